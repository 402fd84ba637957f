"""The first rows of an input file, all its columns, in memory that does not grow with the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import pyarrow as pa

from segments.datatypes.jsontext import check_depth
from segments.domain.push.push_plan import InputFile, Piece
from segments.domain.push.reader_spec import ReaderSpec
from segments.domain.tables.schema import parse_schema
from segments.gateways.input_files.source import InputSource
from segments.spark.reading.csv_rows import csv_rows
from segments.spark.reading.json_text import ValueLines
from segments.spark.reading.locate import csv_header
from segments.spark.reading.notes import FileNotes
from segments.spark.reading.sample.binary_rows import BINARY_ROWS
from segments.spark.reading.sample.formats import csv_reader, encoding_of, format_of
from segments.spark.reading.sample.head import HeadText, first_bytes, whole_records
from segments.spark.reading.sample.objects import MOST_ROWS, check_columns, objects_table
from segments.spark.reading.text import Text


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
    raw_times = reader is not None and reader.raw_times
    table, is_whole = BINARY_ROWS.read(file, data_format, source.access, raw_times=raw_times)
    return _finished(table, reader or ReaderSpec(data_format), file, is_whole=is_whole)


def _csv(file: InputFile, source: InputSource, given: ReaderSpec | None, has_header: bool | None) -> FirstRows:
    reader, _ = (given, []) if given is not None else csv_reader(file.path, source, has_header=has_header)
    text = Text(file.path, reader.encoding, source)
    data, is_whole = first_bytes(text)
    if not is_whole:
        data = whole_records(data, reader.quote)
    head = HeadText(file.path, "utf-8", source, data)
    names = list(reader.header) if reader.header is not None else csv_header(head.path, data, reader)
    check_columns(_called(file), names)
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


def _finished(table: pa.Table, reader: ReaderSpec, file: InputFile, *, is_whole: bool) -> FirstRows:
    check_columns(_called(file), table.column_names)
    return FirstRows(table, reader, {n: n for n in table.column_names}, is_text=False, is_whole=is_whole)


def _called(file: InputFile) -> str:
    return f"Input file '{file.path}'"
