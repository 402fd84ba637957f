"""Finds the line of a row in an input file, for error messages only: walks the text once, slowly."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from segments.domain.push.reader_spec import ReaderSpec
from segments.errors import InvalidInput

_FIELD_LIMIT = 1 << 30


def csv_header(path: str, data: bytes, reader: ReaderSpec) -> list[str]:
    """Column names: the configured ones, else the first line's. InvalidInput when there are none, or one is there
    twice.
    """
    if reader.header is not None:
        return list(reader.header)
    end = data.find(b"\n")
    first = next(_records(data[: end if end >= 0 else len(data)], reader), (1, []))[1]
    names = [n.strip() for n in first]
    if not any(names):
        raise InvalidInput(
            f"Input file '{path}' line 1: there is no header.", remedy="Set recordReaderSpec.configs.header."
        )
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise InvalidInput(
            f"Input file '{path}' line 1: column '{twice[0]}' is there twice.", remedy="Name every column once."
        )
    return names


def first_record(data: bytes, reader: ReaderSpec) -> list[str]:
    """Values of the first data row, as far as its first lines hold it; [] when there is none."""
    return next(_data_records(data[:65_536], reader), (0, []))[1]


def line_of_row(data: bytes, reader: ReaderSpec, row: int) -> int | None:
    """The line (from 1, a header counts) on which data row ``row`` (from 0) begins; None for Parquet or a row that is
    not there.
    """
    if reader.format == "parquet":
        return None
    if reader.format == "json":
        lines = (n for n, line in enumerate(data.splitlines(), 1) if line.strip())
    else:
        lines = (n for n, _ in _data_records(data, reader))
    return next((line for at, line in enumerate(lines) if at == row), None)


@dataclass(frozen=True)
class Places:
    """Where rows begin: {data row, from 0: its line}, and (line, values) of the rows with another number of columns,
    which do not count.
    """

    lines: dict[int, int]
    misfits: list[tuple[int, list[str]]]


def places_of(data: bytes, reader: ReaderSpec, rows: Collection[int], columns: int, *, most: int) -> Places:
    """Lines of data rows of CSV or JSON lines, as far as they are there, and at most ``most`` misfits of a CSV file;
    one walk.
    """
    wanted, lines, misfits, at = set(rows), dict[int, int](), list[tuple[int, list[str]]](), 0
    for line, values in _data_records(data, reader) if reader.format == "csv" else _json_records(data):
        if reader.format == "csv" and len(values) != columns:
            misfits += [(line, values)] if len(misfits) < most else []
            continue
        if at in wanted:
            lines[at] = line
        at += 1
    return Places(lines, misfits)


def _json_records(data: bytes) -> Iterator[tuple[int, list[str]]]:
    """Lines that hold an object; the others are no rows."""
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip() and json_object(line) is not None:
            yield number, []


def json_object(line: bytes) -> dict[str, Any] | None:
    """The object of a line of JSON; None when it holds none."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def misfit(data: bytes, reader: ReaderSpec, columns: int) -> str | None:
    """`` line 7`` for the first CSV row that has another number of columns than the header; None when all fit."""
    return next((f" line {n}" for n, values in _data_records(data, reader) if len(values) != columns), None)


def undecodable(data: bytes) -> str | None:
    """`` line 7`` for the first line that is no UTF-8; None when all is."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        before = data.count(b"\n", 0, error.start)
        return f" line {before + 1}"
    return None


def _data_records(data: bytes, reader: ReaderSpec) -> Iterator[tuple[int, list[str]]]:
    records = _records(data, reader)
    if reader.header is None or reader.skip_header:
        next(records, None)
    return records


def _records(data: bytes, reader: ReaderSpec) -> Iterator[tuple[int, list[str]]]:
    """(line on which it begins, values) of every record; empty lines left out as the fast reader does."""
    csv.field_size_limit(_FIELD_LIMIT)
    quoting: dict[str, Any] = {"quotechar": reader.quote} if reader.quote else {"quoting": csv.QUOTE_NONE}
    text = io.StringIO(data.decode(errors="replace"), newline="")
    source = csv.reader(text, delimiter=reader.delimiter, escapechar=reader.escape, **quoting)
    begins = 1
    for values in source:
        if values or not reader.skip_empty_lines:
            yield begins, values
        begins = source.line_num + 1
