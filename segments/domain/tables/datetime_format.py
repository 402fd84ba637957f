"""Date-time formats of schema fields: ``1:DAYS:EPOCH``, ``SIMPLE_DATE_FORMAT|yyyyMMdd|UTC``, ``TIMESTAMP`` and Pinot's
other spellings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from segments.domain.formats.whole_number import whole_number
from segments.errors import InvalidInput

MILLIS: Final[dict[str, float]] = {
    "NANOSECONDS": 1e-6, "MICROSECONDS": 1e-3, "MILLISECONDS": 1, "SECONDS": 1_000, "MINUTES": 60_000,
    "HOURS": 3_600_000, "DAYS": 86_400_000,
}  # fmt: skip
_REMEDY = "Use for example 1:DAYS:EPOCH, EPOCH|MILLISECONDS|1, SIMPLE_DATE_FORMAT|yyyy-MM-dd or TIMESTAMP."
#: Java pattern letters -> strptime directives, for the letters that have one.
_STRPTIME: Final = {
    "yyyy": "%Y",
    "yy": "%y",
    "MM": "%m",
    "M": "%m",
    "MMM": "%b",
    "MMMM": "%B",
    "dd": "%d",
    "d": "%d",
    "DDD": "%j",
    "HH": "%H",
    "H": "%H",
    "hh": "%I",
    "mm": "%M",
    "m": "%M",
    "ss": "%S",
    "s": "%S",
    "SSS": "%f",
    "a": "%p",
    "Z": "%z",
    "z": "%Z",
    "EEE": "%a",
    "EEEE": "%A",
    "XXX": "%z",
}
_UNPADDED: Final = "MdHms"


@dataclass(frozen=True)
class DateTimeFormat:
    """``kind``; ``unit`` and ``size`` of an EPOCH (value x size x unit = time); ``pattern`` and ``zone`` of a text
    format.
    """

    kind: Literal["EPOCH", "TIMESTAMP", "SIMPLE_DATE_FORMAT"]
    unit: str = "MILLISECONDS"
    size: int = 1
    pattern: str = ""
    zone: str = "UTC"

    def to_millis(self, value: int) -> int:
        """A value of an EPOCH or TIMESTAMP column as milliseconds (the size counts, unlike in Pinot)."""
        return int(value * self.size * MILLIS[self.unit])

    @property
    def strptime(self) -> str:
        """The text pattern in strptime's letters."""
        return java_to_strptime(self.pattern)


def parse_format(text: str) -> DateTimeFormat:
    """Parse either spelling (``size:unit:kind[:pattern]`` or ``kind|unit|size`` / ``kind|pattern|zone``). Raises
    InvalidInput.
    """
    parts = text.split("|") if "|" in text or ":" not in text else _colon_parts(text)
    match parts:
        case ["TIMESTAMP"]:
            return DateTimeFormat("TIMESTAMP")
        case ["EPOCH", unit]:
            return _epoch(text, unit, "1")
        case ["EPOCH", unit, size]:
            return _epoch(text, unit, size)
        case ["SIMPLE_DATE_FORMAT"]:
            return DateTimeFormat("SIMPLE_DATE_FORMAT", pattern="yyyy-MM-dd'T'HH:mm:ss")
        case ["SIMPLE_DATE_FORMAT", pattern]:
            return _simple(text, pattern, "UTC")
        case ["SIMPLE_DATE_FORMAT", pattern, zone]:
            return _simple(text, pattern, zone)
    raise InvalidInput(f"'{text}' is not a date-time format.", remedy=_REMEDY)


def check_granularity(text: object) -> None:
    """``1:DAYS`` or ``DAYS|1``; raises InvalidInput for other text, accepts None."""
    if text is None:
        return
    parts = re.split(r"[:|]", str(text))
    known = [p for p in parts if p in MILLIS]
    sizes = [p for p in parts if whole_number(p)]
    if len(parts) > 2 or len(known) != 1 or len(known) + len(sizes) != len(parts):
        raise InvalidInput(f"'{text}' is not a granularity.", remedy="Use for example 1:DAYS.")


def java_to_strptime(pattern: str, *, to_write: bool = False) -> str:
    """``yyyy-MM-dd'T'HH`` -> ``%Y-%m-%dT%H``. Raises InvalidInput naming a letter that has no counterpart.

    ``to_write``: a single letter writes its number without a leading zero (``%-d``), which reading takes either way.
    """
    out: list[str] = []
    for quoted, letters, other in _tokens(pattern):
        if letters:
            if letters not in _STRPTIME:
                raise InvalidInput(f"'{letters}' in the pattern '{pattern}' is not supported.", remedy=_REMEDY)
            is_short = to_write and len(letters) == 1 and letters in _UNPADDED
            out.append(_STRPTIME[letters].replace("%", "%-") if is_short else _STRPTIME[letters])
        else:
            out.append((quoted or other).replace("%", "%%"))
    return "".join(out)


def _tokens(pattern: str) -> list[tuple[str, str, str]]:
    found = re.finditer(r"'(?P<quoted>[^']*)'|(?P<letters>(?P<c>[A-Za-z])(?P=c)*)|(?P<other>[^A-Za-z'])", pattern)
    return [(m["quoted"] or "", m["letters"] or "", m["other"] or "") for m in found]


def _colon_parts(text: str) -> list[str]:
    size, _, rest = text.partition(":")
    unit, _, rest = rest.partition(":")
    kind, _, pattern = rest.partition(":")
    if kind == "EPOCH" and not pattern:
        return ["EPOCH", unit, size]
    if kind == "TIMESTAMP" and not pattern:
        return ["TIMESTAMP"]
    if kind == "SIMPLE_DATE_FORMAT" and pattern and whole_number(size) is not None and unit in MILLIS:
        head, mark, zone = pattern.rstrip().removesuffix(")").rpartition("tz(")
        is_zoned = bool(mark and zone) and ")" not in zone and pattern.rstrip().endswith(")")
        return [kind, head.rstrip(), zone] if is_zoned else [kind, pattern]
    raise InvalidInput(f"'{text}' is not a date-time format.", remedy=_REMEDY)


def _epoch(text: str, unit: str, size: str) -> DateTimeFormat:
    number = whole_number(size)
    if unit not in MILLIS or not number or number >= 2**31:
        raise InvalidInput(f"'{text}' is not a date-time format.", remedy=_REMEDY)
    return DateTimeFormat("EPOCH", unit, number)


def _simple(text: str, pattern: str, zone: str) -> DateTimeFormat:
    if not pattern:
        raise InvalidInput(f"'{text}' has no pattern.", remedy=_REMEDY)
    java_to_strptime(pattern)
    return DateTimeFormat("SIMPLE_DATE_FORMAT", pattern=pattern, zone=zone or "UTC")
