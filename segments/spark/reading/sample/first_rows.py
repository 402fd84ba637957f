"""The first rows of an input file, all its columns, in memory that does not grow with the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
import pyarrow as pa

from segments.datatypes.jsontext import check_depth, json_of
from segments.domain.formats.plural import counted
from segments.domain.push.push_plan import InputFile, Piece
from segments.domain.push.reader_spec import ReaderSpec
from segments.domain.tables.schema import parse_schema
from segments.errors import InvalidInput
from segments.gateways.input_files.source import InputSource
from segments.spark.reading.avro_rows import AvroFile
from segments.spark.reading.columnar import Columnar
from segments.spark.reading.csv_rows import csv_rows
from segments.spark.reading.json_text import ValueLines
from segments.spark.reading.locate import csv_header
from segments.spark.reading.notes import FileNotes
from segments.spark.reading.sample.formats import csv_reader, encoding_of, format_of
from segments.spark.reading.sample.head import HeadText, first_bytes, whole_records
from segments.spark.reading.text import Text

#: Rows of a sample.
MOST_ROWS: Final = 10_000
#: Columns that a file may have to be a table.
_MOST_COLUMNS: Final = 2_000
_SHOWN: Final = 8


@dataclass(frozen=True)
class FirstRows:
    """``table``: the rows by the file's names of columns, all of them text with ``is_text``. ``names``: {name in the
    file: name to read it by}; of a CSV file both are the latter. ``bad``: lines of the sample that are no row.
    """

    table: pa.Table
    reader: ReaderSpec
    names: Mapping[str, str]
    is_text: bool
    is_whole: bool
    bad: int = 0


def read_first_rows(
    file: InputFile, source: InputSource, reader: ReaderSpec | None = None, *, has_header: bool | None = None
) -> FirstRows:
    """The first rows of a file. ``reader``: how it is read; None: found out. Raises InvalidInput naming the file."""
    data_format = format_of(file.path, source) if reader is None else reader.format
    if data_format == "csv":
        return _csv(file, source, reader, has_header)
    if data_format == "json":
        return _json(file, source, reader)
    if data_format == "avro":
        found = AvroFile(file.path, source, reader.raw_times if reader else False).first_rows(MOST_ROWS)
        return _of_objects(found, reader or ReaderSpec("avro"), file, is_whole=len(found) < MOST_ROWS)
    table, is_whole = Columnar(file.path, data_format, source).first_rows(MOST_ROWS)
    return _finished(table, reader or ReaderSpec(data_format), file, is_whole=is_whole)


def _csv(file: InputFile, source: InputSource, given: ReaderSpec | None, has_header: bool | None) -> FirstRows:
    reader, _ = (given, []) if given is not None else csv_reader(file.path, source, has_header=has_header)
    text = Text(file.path, reader.encoding, source)
    data, is_whole = first_bytes(text)
    if not is_whole:
        data = whole_records(data, reader.quote)
    head = HeadText(file.path, "utf-8", source, data)
    names = list(reader.header) if reader.header is not None else csv_header(head.path, data, reader)
    _check_columns(_called(file), names)
    notes = FileNotes()
    fields = [{"name": n, "dataType": "STRING"} for n in names]
    table = csv_rows(
        head, Piece(file), reader, parse_schema({"schemaName": "sample", "dimensionFieldSpecs": fields}), notes
    )
    cut = table.slice(0, MOST_ROWS)
    return FirstRows(
        cut, reader, {n: n for n in names}, is_text=True, is_whole=is_whole and cut.num_rows == table.num_rows,
        bad=notes.bad,
    )  # fmt: skip


def _json(file: InputFile, source: InputSource, given: ReaderSpec | None) -> FirstRows:
    reader = given or ReaderSpec("json", encoding=encoding_of(file.path, source))
    data, is_whole = first_bytes(Text(file.path, reader.encoding, source))
    rows: list[dict[str, Any]] = []
    bad = 0
    lines = [line for chunk in ValueLines().lines(iter((data,))) for line in chunk.split(b"\n") if line.strip()]
    for line in lines if is_whole else lines[:-1]:
        if len(rows) >= MOST_ROWS:
            is_whole = False
            break
        try:
            row = orjson.loads(line)
            if isinstance(row, dict):
                check_depth(line, row)
        except ValueError:
            row = None
        if isinstance(row, dict):
            rows.append(row)
        else:
            bad += 1
    found = _of_objects(rows, reader, file, is_whole=is_whole)
    return FirstRows(found.table, reader, found.names, is_text=False, is_whole=is_whole, bad=bad)


def _of_objects(rows: Sequence[Mapping[str, Any]], reader: ReaderSpec, file: InputFile, *, is_whole: bool) -> FirstRows:
    return _finished(objects_table(rows, _called(file)), reader, file, is_whole=is_whole)


def objects_table(rows: Sequence[Mapping[str, Any]], what: str) -> pa.Table:
    """A column for each key of the rows. Raises InvalidInput naming ``what`` they are of when no table can be made."""
    names = list(dict.fromkeys(key for row in rows for key in row))
    _check_columns(what, names)
    return pa.table({name: _array([row.get(name) for row in rows]) for name in names})


def _array(values: list[Any]) -> Any:
    """Of one type, or else as text."""
    if any(isinstance(v, dict) or (isinstance(v, list) and any(isinstance(i, dict | list) for i in v)) for v in values):
        return pa.array(values_as_json(values), pa.string())
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        pass
    numbers = [v for v in values if v is not None]
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in numbers):
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    return pa.array(values_as_json(values), pa.string())


def values_as_json(values: list[Any]) -> list[str | None]:
    """Text stays as it is, everything else becomes JSON text."""
    return [v if v is None or isinstance(v, str) else json_of(v) for v in values]


def _finished(table: pa.Table, reader: ReaderSpec, file: InputFile, *, is_whole: bool) -> FirstRows:
    _check_columns(_called(file), table.column_names)
    return FirstRows(table, reader, {n: n for n in table.column_names}, is_text=False, is_whole=is_whole)


def _called(file: InputFile) -> str:
    return f"Input file '{file.path}'"


def _check_columns(what: str, names: Sequence[str]) -> None:
    if not names:
        raise InvalidInput(f"{what} has no column.", remedy="Choose one with rows.")
    if len(names) > _MOST_COLUMNS:
        raise InvalidInput(
            f"{what} has {counted(len(names), 'column')} ({', '.join(names[:_SHOWN])}, ...).",
            remedy=f"At most {_MOST_COLUMNS} are read here: create the schema with POST /schemas.",
        )
