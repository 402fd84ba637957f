"""Names of consuming segments: ``table__partition__sequence__20260801T1000Z``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from segments.errors import InvalidInput

_MINUTE_MS: Final = 60_000
_NAME = re.compile(r"(?P<raw>.+)__(?P<partition>0|[1-9]\d{0,9})__(?P<sequence>0|[1-9]\d{0,9})__(?P<time>\d{8}T\d{4}Z)")
_TIME: Final = "%Y%m%dT%H%MZ"
_LARGEST: Final = 2**31 - 1


@dataclass(frozen=True)
class LLCName:
    """One consuming (or committed) segment of a partition. ``creation_ms`` is cut to the minute, so equal names are
    equal values.

    Names of one table are ordered by partition, then sequence; names of different tables have no order.
    """

    raw: str
    partition: int
    sequence: int
    creation_ms: int

    def __post_init__(self) -> None:
        check_llc_table(self.raw)
        if not (0 <= self.partition <= _LARGEST and 0 <= self.sequence <= _LARGEST):
            raise InvalidInput(f"Partition {self.partition} and sequence {self.sequence} do not make a segment name.")
        object.__setattr__(self, "creation_ms", self.creation_ms // _MINUTE_MS * _MINUTE_MS)

    @property
    def text(self) -> str:
        """The name as Pinot writes it."""
        return f"{self.raw}__{self.partition}__{self.sequence}__{_time_text(self.creation_ms)}"

    def __str__(self) -> str:
        return self.text

    def next(self, now_ms: int) -> LLCName:
        """The name of the segment that follows in the same partition."""
        return LLCName(self.raw, self.partition, self.sequence + 1, now_ms)

    def __lt__(self, other: LLCName) -> bool:
        if self.raw != other.raw:
            raise InvalidInput(f"Segments '{self}' and '{other}' belong to different tables and have no order.")
        return (self.partition, self.sequence, self.text) < (other.partition, other.sequence, other.text)


def partition_stem(segment: str) -> str:
    """``table__partition`` of ``table__partition__sequence__time``; another name is its own."""
    return segment.rsplit("__", 2)[0]


def parse_llc_name(text: str) -> LLCName:
    """The parts of a consuming segment's name. Raises InvalidInput for any other name."""
    found = _NAME.fullmatch(text)
    if found is None:
        raise InvalidInput(
            f"'{text}' is not a name of a consuming segment.", remedy="An example: table__0__12__20260801T1000Z."
        )
    try:
        created_ms = _time_ms(found["time"])
    except ValueError as error:
        raise InvalidInput(f"'{text}' does not end in a time.", remedy="It ends like 20260801T1000Z.") from error
    return LLCName(found["raw"], int(found["partition"]), int(found["sequence"]), created_ms)


@lru_cache(maxsize=4096)
def _time_ms(text: str) -> int:
    """Segments are made in few different minutes, and passes read thousands of names. ValueError."""
    return int(datetime.strptime(text, _TIME).replace(tzinfo=UTC).timestamp() * 1000)


@lru_cache(maxsize=4096)
def _time_text(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime(_TIME)


def is_llc_name(text: str) -> bool:
    """Is this the name of a consuming (or committed) segment? Never raises."""
    if not text.endswith("Z"):
        return False  # most other names, without the cost of an error
    try:
        parse_llc_name(text)
    except InvalidInput:
        return False
    return True


def partition_of(segment: str) -> int | None:
    """Partition id in a consuming segment's name; None for other names."""
    return parse_llc_name(segment).partition if is_llc_name(segment) else None


def check_llc_table(raw: str) -> str:
    """The raw table name, or InvalidInput when names of its consuming segments could not be read back."""
    if not raw or "__" in raw or raw.endswith("_"):
        raise InvalidInput(
            f"Table '{raw}' cannot have consuming segments.",
            remedy="A realtime table's name holds no '__' and does not end in '_'.",
        )
    return raw
