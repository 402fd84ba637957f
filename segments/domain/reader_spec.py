"""``recordReaderSpec`` of a job: format and reader settings with Pinot's defaults (batch-push.md 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from segments.errors import InvalidInput

FORMATS: Final = ("csv", "json", "parquet")
_CLASSES: Final = {
    "csvrecordreader": "csv",
    "jsonrecordreader": "json",
    "parquetrecordreader": "parquet",
    "parquetnativerecordreader": "parquet",
}
_CSV_KEYS: Final = (
    "fileFormat", "header", "delimiter", "multiValueDelimiter", "multiValueDelimiterEnabled", "escapeCharacter", "nullStringValue",
    "skipHeader", "ignoreEmptyLines", "ignoreSurroundingSpaces", "quoteCharacter",
)  # fmt: skip
_UNSUPPORTED: Final = ("commentMarker", "quoteMode", "recordSeparator", "stopOnError")
#: CSV presets that differ from one another, as far as a reader can tell, only in the delimiter.
_PRESETS: Final = {"default": ",", "rfc4180": ",", "excel": ",", "tdf": "\t"}


@dataclass(frozen=True)
class ReaderSpec:
    """How to read input files. Only ``format`` matters unless it is csv.

    ``header``: column names when the file has none (or, with ``skip_header``, instead of its own); None: the first line names them.
    ``multi_value``: delimiter inside multi-value columns, None: never split. ``null_string`` reads as null, beside empty text.
    """

    format: str
    delimiter: str = ","
    header: tuple[str, ...] | None = None
    skip_header: bool = False
    multi_value: str | None = ";"
    null_string: str | None = None
    quote: str | None = '"'
    escape: str | None = None
    trim: bool = True
    skip_empty_lines: bool = True

    def to_json(self) -> dict[str, Any]:
        """Plain values, for a job that is sent elsewhere."""
        return asdict(self)


def from_json(body: Mapping[str, Any]) -> ReaderSpec:
    """Back from ``to_json``."""
    header = body.get("header")
    return ReaderSpec(**{**body, "header": tuple(header) if header is not None else None})


def parse_reader(spec: Mapping[str, Any], configs: Mapping[str, Any]) -> ReaderSpec:
    """Format from ``dataFormat``, else from ``className``. Raises InvalidInput naming the key."""
    name = str(spec.get("dataFormat") or "").lower() or _CLASSES.get(str(spec.get("className") or "").rpartition(".")[2].lower(), "")
    if name not in FORMATS:
        given = spec.get("dataFormat") or spec.get("className")
        raise InvalidInput(
            f"'recordReaderSpec.dataFormat' {given!r} is not supported." if given else "'recordReaderSpec.dataFormat' is missing.",
            remedy=f"Use one of {', '.join(FORMATS)}.", field="recordReaderSpec.dataFormat",
        )  # fmt: skip
    return _csv(configs) if name == "csv" else ReaderSpec(name)


def _csv(configs: Mapping[str, Any]) -> ReaderSpec:
    for key, value in configs.items():
        if key in _UNSUPPORTED and value is not None:
            raise _bad(key, "is not supported", "Remove it.")
        if key not in (*_CSV_KEYS, *_UNSUPPORTED):
            raise _bad(key, "is no setting of the CSV reader", f"Known are {', '.join(_CSV_KEYS)}.")
    preset = str(configs.get("fileFormat") or "default").lower()
    if preset not in _PRESETS:
        raise _bad("fileFormat", f"'{preset}' is not supported", f"Use one of {', '.join(_PRESETS)}.")
    delimiter = _char(configs, "delimiter", _PRESETS[preset])
    assert delimiter is not None
    header = configs.get("header")
    names = tuple(n.strip() for n in str(header).split(delimiter)) if header else None
    if names is not None and len(set(names)) != len(names):
        raise _bad("header", "names a column twice", "Name every column once.")
    null = configs.get("nullStringValue")
    return ReaderSpec(
        "csv", delimiter, names, _flag(configs, "skipHeader", False),
        _char(configs, "multiValueDelimiter", ";") if _flag(configs, "multiValueDelimiterEnabled", True) else None,
        str(null) if null is not None else None, _char(configs, "quoteCharacter", '"'), _char(configs, "escapeCharacter", None),
        _flag(configs, "ignoreSurroundingSpaces", True), _flag(configs, "ignoreEmptyLines", True),
    )  # fmt: skip


def _char(configs: Mapping[str, Any], key: str, default: str | None) -> str | None:
    value = configs.get(key)
    if value is None:
        return default
    text = {"\\t": "\t", "\\n": "\n"}.get(str(value), str(value))
    if len(text) != 1 or ord(text) > 127:
        raise _bad(key, f"must be one ASCII character, not {value!r}", "")
    return text


def _flag(configs: Mapping[str, Any], key: str, default: bool) -> bool:
    value = configs.get(key)
    if value is None:
        return default
    if str(value).lower() not in ("true", "false"):
        raise _bad(key, f"must be true or false, not {value!r}", "")
    return str(value).lower() == "true"


def _bad(key: str, text: str, remedy: str) -> InvalidInput:
    path = f"recordReaderSpec.configs.{key}"
    return InvalidInput(f"'{path}' {text}.", remedy=remedy, field=path)
