"""Finds out what an input file is: its format by the first bytes and the name, and how a CSV file is written."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from segments.datatypes.inference.written_types import type_of_texts
from segments.domain.push.reader_spec import ReaderSpec
from segments.domain.tables.design.given_names import is_plain, plain_names
from segments.errors import InvalidInput
from segments.gateways.input_files.source import InputSource
from segments.spark.reading.sample.head import first_bytes
from segments.spark.reading.text import Text

_AVRO: Final = b"Obj\x01"
_MAGIC: Final = ((b"PAR1", "parquet"), (b"ORC", "orc"), (_AVRO, "avro"))
#: Files that begin like text and are none; bytes that texts do not have, and the share of them that a text may have.
_NO_TEXT: Final = (b"%PDF-", b"PK\x03\x04", b"{\\rtf")
_CONTROL: Final = bytes(b for b in range(32) if b not in b"\t\n\v\f\r\x1b")
_MOST_CONTROL: Final = 0.01
_DELIMITERS: Final = ",;\t|"
#: Bytes and records that show how a file is written.
_HEAD: Final = 256 << 10
_RECORDS: Final = 50
#: Texts that stand for null in the files of many programs, besides the empty one.
_NULLS: Final = ("NULL", "null", "\\N", "NA", "N/A", "n/a", "NaN", "nan", "None", "-")


def format_of(path: str, source: InputSource) -> str:
    """One of the formats of readers. Raises InvalidInput, NotFound, Unavailable for a file that cannot be read, and
    InvalidInput for one that is nothing of the kind.
    """
    with source.open(path) as file:
        first = bytes(file.read(8))
    if not first:
        raise InvalidInput(f"Input file '{path}' is empty.", remedy="Choose a file with rows.")
    found = next((name for magic, name in _MAGIC if first.startswith(magic)), None)
    if found is not None:
        return found
    unpacked, _ = first_bytes(Text(path, "utf-8", source), _HEAD)
    if unpacked.startswith(_AVRO):  # an Avro file may be compressed as a whole
        return "avro"
    if unpacked.startswith(_NO_TEXT) or _control_share(unpacked) > _MOST_CONTROL:
        raise InvalidInput(
            f"Input file '{path}' is not a CSV, JSON, Parquet, ORC or Avro file.",
            remedy="Spreadsheets and archives (.xlsx, .zip, .tar) are not read: export or unpack them first.",
        )
    head, _ = first_bytes(Text(path, encoding_of(path, source), source), _HEAD)
    return "json" if head.lstrip().startswith((b"{", b"[")) else "csv"


def _control_share(head: bytes) -> float:
    """Which share of the bytes no text has; 1 for a NUL."""
    return 1.0 if b"\x00" in head else 1 - len(head.translate(None, _CONTROL)) / max(len(head), 1)


def encoding_of(path: str, source: InputSource) -> str:
    """UTF-8 (or UTF-16 by its mark) unless the beginning is none; then that of Windows."""
    head, is_all = first_bytes(Text(path, "utf-8", source), _HEAD)
    try:
        head[: len(head) if is_all else -4].decode()
    except UnicodeDecodeError as error:
        if is_all or error.start < len(head) - 8:
            return "cp1252"
    return "utf-8"


def csv_reader(path: str, source: InputSource, *, has_header: bool | None = None) -> tuple[ReaderSpec, list[str]]:
    """(how a CSV file is to be read, its columns as the file names them; "" those that have no name).

    ``has_header``: whether the first line names the columns; None: found out. Names that queries could not use are
    replaced by ``header``. Raises InvalidInput.
    """
    encoding = encoding_of(path, source)
    head, is_all = first_bytes(Text(path, encoding, source), _HEAD)
    text = head.decode(errors="replace")
    delimiter = _delimiter(text)
    records = _records(text, delimiter, is_all=is_all)
    if not records:
        raise InvalidInput(f"Input file '{path}' has no line with values.", remedy="Choose a file with rows.")
    named = _is_header(records) if has_header is None else has_header
    given = [n.strip() for n in records[0]] if named else [""] * len(records[0])
    names = plain_names(given)
    is_same = named and names == given and all(map(is_plain, given))
    return ReaderSpec(
        "csv",
        delimiter,
        None if is_same else tuple(names),
        skip_header=named and not is_same,
        multi_value="|" if delimiter == ";" else ";",
        null_string=_null_text(records[1:] if named else records),
        encoding=encoding,
    ), given


def _delimiter(text: str) -> str:
    """The character that cuts most lines into the same number of values, the more the better."""
    best, score = ",", (0.0, 0)
    for delimiter in _DELIMITERS:
        lengths = Counter(len(r) for r in _records(text, delimiter, is_all=False))
        if not lengths:
            continue
        width, count = max(lengths.items(), key=lambda item: (item[1], item[0]))
        found = (count / lengths.total(), width)
        if width > 1 and found > score:
            best, score = delimiter, found
    return best


def _records(text: str, delimiter: str, *, is_all: bool) -> list[list[str]]:
    found = []
    try:
        for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True):
            if any(v.strip() for v in record):
                found.append(record)
            if len(found) > _RECORDS:
                break
    except csv.Error:  # a value of more than a hundred thousand characters
        pass
    return found if is_all or len(found) <= 1 or len(found) > _RECORDS else found[:-1]


def _is_header(records: Sequence[Sequence[str]]) -> bool:
    """Is the first record one of names: no number and no date? One with a text twice is, where a column's other values
    are numbers or dates: values of a text column repeat, too.
    """
    present = [n.strip() for n in records[0] if n.strip()]
    if not present or any(_is_typed([n]) for n in present):
        return False
    return len(set(present)) == len(present) or any(
        _is_typed([v for v in column if v.strip() and v.strip() not in _NULLS])
        for column in zip(*(r for r in records[1:] if len(r) == len(records[0])), strict=True)
    )


def _is_typed(texts: Sequence[str]) -> bool:
    """Are all of them numbers, dates or the like?"""
    found = type_of_texts("", dict.fromkeys((t.strip() for t in texts), 1))
    return found.data_type != "STRING" or bool(found.format)


def _null_text(records: Sequence[Sequence[str]]) -> str | None:
    """The text for null that most of the values have which are in columns of something else."""
    found: Counter[str] = Counter()
    for column in zip(*(r for r in records if len(r) == len(records[0])), strict=True):
        values = [v.strip() for v in column]
        others = {v: 1 for v in values if v and v not in _NULLS}
        if others and type_of_texts("", others).data_type != "STRING":
            found.update(v for v in values if v in _NULLS)
        elif {"NULL", "\\N"} & set(values):
            found.update(v for v in values if v in ("NULL", "\\N"))
    return found.most_common(1)[0][0] if found else None


def reader_configs(reader: ReaderSpec) -> dict[str, Any]:
    """``recordReaderSpec`` of a job that reads files in this way."""
    if reader.format != "csv":
        configs = {"encoding": reader.encoding} if reader.format == "json" and reader.encoding != "utf-8" else {}
        return {"dataFormat": reader.format, **({"configs": configs} if configs else {})}
    configs = {}
    if reader.delimiter != ",":
        configs["delimiter"] = "\\t" if reader.delimiter == "\t" else reader.delimiter
    if reader.header is not None:
        configs["header"] = reader.delimiter.join(reader.header)
    if reader.skip_header:
        configs["skipHeader"] = "true"
    if reader.multi_value not in (None, ";"):
        configs["multiValueDelimiter"] = str(reader.multi_value)
    if reader.null_string is not None:
        configs["nullStringValue"] = reader.null_string
    if reader.encoding != "utf-8":
        configs["encoding"] = reader.encoding
    return {"dataFormat": "csv", **({"configs": configs} if configs else {})}
