"""Finds the line of a row in an input file, for error messages only: walks the text once, slowly."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from segments.domain.push.reader_spec import ReaderSpec
from segments.errors import InvalidInput

_FIELD_LIMIT = 1 << 30


def csv_header(path: str, head: bytes, reader: ReaderSpec) -> list[str]:
    """Column names: the configured ones, else those of the first line of ``head``. InvalidInput when there are none, or
    one is there twice.
    """
    if reader.header is not None:
        return list(reader.header)
    end = head.find(b"\n")
    first = next(_records(_text(head[: end if end >= 0 else len(head)]), reader), (1, []))[1]
    names = [n.strip() for n in first]
    if not any(names):
        raise InvalidInput(
            f"Input file '{path}' line 1: there is no header.",
            remedy="Set recordReaderSpec.configs.header.",
            line=1,
        )
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise InvalidInput(
            f"Input file '{path}' line 1: column '{twice[0]}' is there twice.",
            remedy="Name every column once.",
            line=1,
        )
    return names


def first_record(data: bytes, reader: ReaderSpec, *, has_header: bool) -> list[str]:
    """Values of the first data row, as far as its first lines hold it; [] when there is none."""
    return next(_data_records(_text(data[:65_536]), reader, has_header=has_header), (0, []))[1]


def places_of(
    text: Iterable[str],
    reader: ReaderSpec,
    rows: Collection[int],
    columns: int,
    *,
    has_header: bool,
    on_misfit: Callable[[int, list[str], int], None] = lambda line, values, at: None,
) -> dict[int, int]:
    """{data row, from 0: the line on which it begins} of a CSV text, as far as they are there; one walk.

    Rows with another number of columns do not count: ``on_misfit`` gets their line, values and the data rows before.
    """
    wanted, lines, at = set(rows), dict[int, int](), 0
    for line, values in _data_records(text, reader, has_header=has_header):
        if len(values) != columns:
            on_misfit(line, values, at)
            continue
        if at in wanted:
            lines[at] = line
        at += 1
    return lines


def json_object(line: bytes) -> dict[str, Any] | None:
    """The object of a line of JSON; None when it holds none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def misfit(data: bytes, reader: ReaderSpec, columns: int, *, has_header: bool) -> int | None:
    """The line of the first CSV row that has another number of columns than the header; None when all fit."""
    records = _data_records(_text(data), reader, has_header=has_header)
    return next((n for n, values in records if len(values) != columns), None)


def undecodable(data: bytes) -> int | None:
    """The first line that is not UTF-8; None when all is."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return data.count(b"\n", 0, error.start) + 1
    return None


def _text(data: bytes) -> io.StringIO:
    return io.StringIO(data.decode(errors="replace"), newline="")


def _data_records(text: Iterable[str], reader: ReaderSpec, *, has_header: bool) -> Iterator[tuple[int, list[str]]]:
    records = _records(text, reader)
    if has_header and (reader.header is None or reader.skip_header):
        next(records, None)
    return records


def _records(text: Iterable[str], reader: ReaderSpec) -> Iterator[tuple[int, list[str]]]:
    """(line on which it begins, values) of every record; empty lines left out as the fast reader does."""
    csv.field_size_limit(_FIELD_LIMIT)
    quoting: dict[str, Any] = {"quotechar": reader.quote} if reader.quote else {"quoting": csv.QUOTE_NONE}
    source = csv.reader(
        iter(text), delimiter=reader.delimiter, escapechar=reader.escape, skipinitialspace=reader.trim, **quoting
    )
    begins = 1
    for values in source:
        if values or not reader.skip_empty_lines:
            yield begins, values
        begins = source.line_num + 1
