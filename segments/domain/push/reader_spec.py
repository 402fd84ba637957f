"""``recordReaderSpec`` of a job: format and reader settings with Pinot's defaults."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from segments.domain.formats.json_model import Flag, read_model
from segments.domain.push.push_model import CsvConfigs, RecordReader, keys_of
from segments.errors import InvalidInput
from segments.names import shown

_BELOW: Final = "recordReaderSpec.configs"
FORMATS: Final = ("csv", "json", "parquet", "orc", "avro")
#: Those whose rows have lines.
TEXTS: Final = ("csv", "json")
_CLASSES: Final = {
    "avrorecordreader": "avro",
    "csvrecordreader": "csv",
    "jsonrecordreader": "json",
    "orcrecordreader": "orc",
    "parquetavrorecordreader": "parquet",
    "parquetrecordreader": "parquet",
    "parquetnativerecordreader": "parquet",
}
#: Settings of Pinot's CSV reader that are refused, with what to do.
_UNSUPPORTED: Final = {
    "commentMarker": "Remove it.",
    "stopOnError": "Remove it; errorRate says how many rows may be bad.",
}
#: Taken without effect, as Pinot's reader does: they are about writing.
_OF_WRITING: Final = ("quoteMode", "recordSeparator")
#: Other spellings of a format; compression is known by the file's first bytes.
_ALIASES: Final = {"gzipped_avro": "avro"}
#: Settings of the other formats. Which of Pinot's Parquet readers is used makes no difference here.
_SETTINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "json": ("encoding",),
    "parquet": ("useParquetAvroRecordReader", "useParquetNativeRecordReader", "extractRawTimeValues"),
    "orc": (),
    "avro": ("extractRawTimeValues",),
}
_UTF8: Final = "utf-8"
#: CSV presets that differ from one another, for a reader, only in the delimiter.
_PRESETS: Final = {"default": ",", "rfc4180": ",", "excel": ",", "tdf": "\t"}


@dataclass(frozen=True)
class ReaderSpec:
    """How to read input files. Only ``format`` matters unless it is csv, but for ``encoding`` of JSON (Python's name of
    it) and ``raw_times`` of Avro and Parquet: times and dates stay the numbers they are stored as.

    ``header``: column names when the file has none (or, with ``skip_header``, instead of its own); None: the first line
    names them. ``multi_value``: delimiter inside multi-value columns, None: never split. ``null_string`` reads as null,
    besides empty text.
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
    encoding: str = _UTF8
    raw_times: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain values, for a job that is sent elsewhere."""
        return asdict(self)


def from_json(body: Mapping[str, Any]) -> ReaderSpec:
    """Back from ``to_json``."""
    header = body.get("header")
    return ReaderSpec(**{**body, "header": tuple(header) if header is not None else None})


def parse_reader(spec: RecordReader) -> ReaderSpec:
    """Format from ``dataFormat``, else from ``className``. Raises InvalidInput naming the key."""
    name = (spec.data_format or "").lower() or _CLASSES.get((spec.class_name or "").rpartition(".")[2].lower(), "")
    name = _ALIASES.get(name, name)
    if name not in FORMATS:
        given = spec.data_format or spec.class_name
        raise InvalidInput(
            f"'recordReaderSpec.dataFormat' {shown(given)!r} is not supported."
            if given
            else "'recordReaderSpec.dataFormat' is missing.",
            remedy=f"Use one of {', '.join(FORMATS)}.",
            field="recordReaderSpec.dataFormat",
        )
    return _csv(spec.configs or {}) if name == "csv" else _other(name, spec.configs or {})


def _other(name: str, configs: Mapping[str, Any]) -> ReaderSpec:
    known = _SETTINGS[name]
    for key in configs:
        if key not in known:
            what = f"Known are {', '.join(known)}." if known else "It has none."
            raise _bad(shown(key), f"is not a setting of the {name} reader", what)
    encoding = configs.get("encoding")
    return ReaderSpec(
        name,
        encoding=_encoding(str(encoding)) if encoding is not None else _UTF8,
        raw_times=str(configs.get("extractRawTimeValues", "")).lower() == "true",
    )


def _encoding(given: str) -> str:
    """Python's name of a text encoding, which may be given in Java's words."""
    try:
        found = codecs.lookup(given.strip())
        is_text = getattr(found, "_is_text_encoding", True) and isinstance("a".encode(found.name), bytes)
    except (LookupError, UnicodeError, ValueError):
        is_text = False
    if not is_text or found.name in ("idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "utf-7"):
        raise _bad(
            "encoding", f"'{shown(given)}' is not an encoding", "Use one such as utf-8, utf-16, iso-8859-1, cp1252."
        )
    return found.name


def _csv(configs: Mapping[str, Any]) -> ReaderSpec:
    known = keys_of(CsvConfigs)
    for key, value in configs.items():
        if key in _UNSUPPORTED and value is not None:
            raise _bad(key, "is not supported", _UNSUPPORTED[key])
        if key not in (*known, *_UNSUPPORTED, *_OF_WRITING):
            raise _bad(key, "is not a setting of the CSV reader", f"Known are {', '.join(known)}.")
    given = read_model(
        CsvConfigs, {k: v for k, v in configs.items() if k in known}, "the job specification", below=_BELOW
    )
    preset = (given.file_format or "default").lower()
    if preset not in _PRESETS:
        raise _bad("fileFormat", f"'{shown(preset)}' is not supported", f"Use one of {', '.join(_PRESETS)}.")
    delimiter = _char("delimiter", given.delimiter) or _PRESETS[preset]
    names = tuple(n.strip() for n in given.header.split(delimiter)) if given.header else None
    if names is not None and len(set(names)) != len(names):
        raise _bad("header", "names a column twice", "Name every column once.")
    return ReaderSpec(
        "csv",
        delimiter,
        names,
        bool(given.skip_header),
        (_char("multiValueDelimiter", given.multi_value_delimiter) or ";")
        if _is_on(given.multi_value_delimiter_enabled)
        else None,
        str(given.null_string_value) if given.null_string_value is not None else None,
        _char("quoteCharacter", given.quote_character) or '"',
        _char("escapeCharacter", given.escape_character),
        _is_on(given.ignore_surrounding_spaces),
        _is_on(given.ignore_empty_lines),
        _encoding(given.encoding) if given.encoding else _UTF8,
    )


def _is_on(flag: Flag | None) -> bool:
    """On unless it is switched off."""
    return flag is None or bool(flag)


def _char(key: str, value: str | None) -> str | None:
    if value is None:
        return None
    text = {"\\t": "\t", "\\n": "\n"}.get(value, str(value))
    if len(text) != 1 or ord(text) > 127:
        raise _bad(key, f"must be one ASCII character, not {shown(value)!r}", "")
    return text


def _bad(key: str, text: str, remedy: str) -> InvalidInput:
    path = f"{_BELOW}.{key}"
    return InvalidInput(f"'{path}' {text}.", remedy=remedy, field=path)
