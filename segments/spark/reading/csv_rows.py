"""Rows of a CSV file by Arrow's reader: a piece at once, or rows of a file that can only be read from its beginning."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from segments.datatypes.convert import NUMBERS
from segments.domain.push.push_plan import Piece, Unit
from segments.domain.push.reader_spec import ReaderSpec
from segments.domain.tables.schema import FieldSpec, Schema
from segments.errors import InvalidInput
from segments.spark.reading.csv_text import csv_text
from segments.spark.reading.locate import csv_header, first_record, misfit, places_of, undecodable
from segments.spark.reading.notes import FileNotes
from segments.spark.reading.text import Text, brief

_MAX_BLOCK: Final = 1 << 30
#: Bytes that are parsed at once of a file that is streamed; a row must fit.
_BLOCK: Final = 16 << 20
#: Bytes in which the header must end.
_HEAD: Final = 1 << 20
_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\dZ?$")


def csv_rows(text: Text, piece: Piece, reader: ReaderSpec, schema: Schema, notes: FileNotes | None) -> pa.Table:
    """The schema's columns of a piece. Raises InvalidInput naming file and line."""
    file = _CsvPiece(csv_text(text, reader), piece, reader, schema, notes)
    if not file.wanted:
        raise InvalidInput(
            f"Input file '{text.path}' line 1: no column of its header ({', '.join(file.header[:8])}) is in schema "
            f"'{schema.name}'.",
            remedy="Check the delimiter and the header.",
            line=1,
        )
    return file.streamed() if piece.unit is Unit.ROWS and not piece.is_whole else file.at_once()


def count_csv(text: Text, piece: Piece, reader: ReaderSpec) -> int:
    """How many rows a file has; memory does not grow with it."""
    text = csv_text(text, reader)
    header = csv_header(text.path, _head(text), reader)
    convert = pacsv.ConvertOptions(include_columns=[header[0]], column_types={header[0]: pa.string()})
    with text.stream() as stream:
        options = _reading(reader, header, _BLOCK, has_header=True), _parsing(reader, bool(reader.quote), lambda: None)
        return sum(batch.num_rows for batch in pacsv.open_csv(stream, *options, convert))


@dataclass
class _CsvPiece:
    """A piece on its way into columns."""

    text: Text
    piece: Piece
    reader: ReaderSpec
    schema: Schema
    notes: FileNotes | None

    def __post_init__(self) -> None:
        self.head = _head(self.text)
        self.header = csv_header(self.text.path, self.head, self.reader)
        self.wanted = [c for c in self.header if c in self.schema.by_name]
        self.has_header = self.piece.unit is Unit.ROWS or self.piece.start == 0
        if self.notes is not None:
            self.notes.ignored = [c for c in self.header if c not in self.schema.by_name]
            self.notes.width = len(self.header)

    def at_once(self) -> pa.Table:
        """All rows, from memory."""
        data = self.text.whole(self.piece)

        def parse(convert: pacsv.ConvertOptions) -> pa.Table:
            size = min(max(len(data), 1 << 16), _MAX_BLOCK)
            has_quotes = bool(self.reader.quote) and str(self.reader.quote).encode() in data
            read = _reading(self.reader, self.header, size, has_header=self.has_header)
            parsing = _parsing(self.reader, has_quotes, self._count_bad if self.notes is not None else None)
            return pacsv.read_csv(io.BytesIO(data), read, parsing, convert)

        def place() -> int | None:
            line = misfit(data, self.reader, len(self.header), has_header=self.has_header) or undecodable(data)
            return None if line is None else line + self.text.lines_before(self.piece)

        sample = first_record(data, self.reader, has_header=self.has_header)
        rows = self._typed(parse, place, sample)
        if self.notes is not None and self.notes.bad:
            self._list_misfits(0, None)
        return self._finished(rows, is_spaced=_is_spaced(data, self.reader))

    def streamed(self) -> pa.Table:
        """Rows ``start`` to ``stop``; memory holds only these."""

        def parse(convert: pacsv.ConvertOptions) -> pa.Table:
            with self.text.stream() as stream:
                read = _reading(self.reader, self.header, _BLOCK, has_header=True)
                bad = self._count_bad if self.notes is not None else None
                batches = pacsv.open_csv(stream, read, _parsing(self.reader, bool(self.reader.quote), bad), convert)
                return pa.Table.from_batches(list(_between(batches, self.piece)), batches.schema)

        sample = first_record(self.head, self.reader, has_header=True)
        rows = self._typed(parse, lambda: None, sample)
        if self.notes is not None and self.notes.bad:
            self.notes.bad = 0
            self._list_misfits(self.piece.start, self.piece.stop)
        return self._finished(rows, is_spaced=True)

    def _typed(
        self, parse: Callable[[pacsv.ConvertOptions], pa.Table], place: Callable[[], int | None], sample: list[str]
    ) -> pa.Table:
        """Parsed by the columns' types, or all as text when a value does not fit: the conversion accepts more
        spellings, or names the row.
        """
        first = dict(zip(self.header, sample, strict=False))
        for types in (NUMBERS, {}):
            kinds = {c: _type(self.schema.by_name[c], types, first.get(c, "")) for c in self.wanted}
            if self.notes is not None:
                self.notes.bad = 0
            try:
                return parse(_convert(self.reader, self.wanted, kinds))
            except pa.ArrowInvalid as error:
                if "conversion error" in str(error) and types:
                    continue
                line = place()
                where = f" line {line}" if line is not None else ""
                raise InvalidInput(
                    f"Input file '{self.text.path}'{where}: {brief(error)}.", remedy="Correct the line.", line=line
                ) from error
        raise AssertionError("text columns always convert")

    def _count_bad(self) -> None:
        assert self.notes is not None
        self.notes.bad += 1

    def _list_misfits(self, start: int, stop: int | None) -> None:
        """List rows of another length between two data rows; of streamed rows, count them."""
        notes = self.notes
        assert notes is not None
        before, counted = self.text.lines_before(self.piece), notes.bad

        after: list[tuple[int, list[str]]] = []

        def note(line: int, values: list[str], at: int) -> None:
            if start <= at and (stop is None or at < stop):
                why = f"has {len(values)} column{'' if len(values) == 1 else 's'} instead of {notes.width}."
                notes.list_bad(line + before, self.reader.delimiter.join(values), why)
            elif at == stop:
                after.append((line, values))

        next_row = () if stop is None else (stop,)
        with self.text.lines(self.piece) as lines:
            found = places_of(lines, self.reader, next_row, notes.width, has_header=self.has_header, on_misfit=note)
        if not found and stop is not None:  # what follows the last row of the file belongs to it
            stop += 1
            for line, values in after:
                note(line, values, stop - 1)
        notes.bad = counted or notes.bad

    def _finished(self, rows: pa.Table, *, is_spaced: bool) -> pa.Table:
        return _split_multi_values(_trimmed(rows, self.reader) if is_spaced else rows, self.reader, self.schema)


def _head(text: Text) -> bytes:
    """The beginning of the file: its header and, mostly, some rows."""
    head = b""
    for chunk in text.chunks(size=1 << 16):
        head += chunk
        if b"\n" in head or len(head) >= _HEAD:
            break
    return head


def _between(batches: Iterator[pa.RecordBatch], piece: Piece) -> Iterator[pa.RecordBatch]:
    passed = 0
    for batch in batches:
        start, stop = piece.start - passed, batch.num_rows if piece.stop is None else piece.stop - passed
        passed += batch.num_rows
        if passed > piece.start:
            yield batch.slice(max(start, 0), max(min(stop, batch.num_rows) - max(start, 0), 0))
        if piece.stop is not None and passed >= piece.stop:
            return


def _reading(reader: ReaderSpec, header: list[str], size: int, *, has_header: bool) -> pacsv.ReadOptions:
    skip = 1 if has_header and (reader.header is None or reader.skip_header) else 0
    return pacsv.ReadOptions(use_threads=False, block_size=size, column_names=header, skip_rows=skip)


def _parsing(reader: ReaderSpec, has_quotes: bool, on_bad: Callable[[], None] | None) -> pacsv.ParseOptions:
    def leave_out(_: object) -> Literal["skip"]:
        assert on_bad is not None
        on_bad()
        return "skip"

    return pacsv.ParseOptions(
        delimiter=reader.delimiter,
        quote_char=reader.quote or False,
        escape_char=reader.escape or False,
        newlines_in_values=has_quotes,
        ignore_empty_lines=reader.skip_empty_lines,
        invalid_row_handler=leave_out if on_bad is not None else None,
    )


def _convert(reader: ReaderSpec, columns: list[str], kinds: dict[str, Any]) -> pacsv.ConvertOptions:
    nulls = [""] if reader.null_string is None else ["", reader.null_string]
    return pacsv.ConvertOptions(
        include_columns=columns,
        column_types=kinds,
        null_values=nulls,
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
    )


def _type(field: FieldSpec, types: dict[str, Any], sample: str) -> Any:
    """The Arrow type to parse a column as; a TIMESTAMP's spelling is taken from its first value, ``sample``."""
    if not field.single_value:
        return pa.string()
    if field.data_type == "TIMESTAMP" and types and _ISO.match(sample):
        return pa.timestamp("ms", "UTC" if sample.endswith("Z") else None)
    return types.get(field.data_type, pa.string())


def _is_spaced(data: bytes, reader: ReaderSpec) -> bool:
    """Does any delimiter or line end have a space next to it?"""
    mark = reader.delimiter.encode()
    return b" " in data and any(b in data for b in (mark + b" ", b" " + mark, b"\n ", b" \n", b" \r"))


def _trimmed(table: pa.Table, reader: ReaderSpec) -> pa.Table:
    """Spaces around values removed."""
    if not reader.trim:
        return table
    for at, column in enumerate(table.schema):
        if pa.types.is_string(column.type):
            text = pc.utf8_trim_whitespace(table.column(at))
            missing = pc.is_in(text, pa.array([v for v in ("", reader.null_string) if v is not None]))
            table = table.set_column(at, column.name, pc.if_else(missing, pa.scalar(None, pa.string()), text))
    return table


def _split_multi_values(table: pa.Table, reader: ReaderSpec, schema: Schema) -> pa.Table:
    for at, name in enumerate(table.column_names):
        if not schema.by_name[name].single_value and reader.multi_value is not None:
            texts = _without_empty_items(table.column(at), reader.multi_value)
            table = table.set_column(at, name, pc.split_pattern(texts, reader.multi_value))
    return table


def _without_empty_items(texts: Any, delimiter: str) -> Any:
    """``a;;b;`` is ``a;b``, as Pinot splits it; what has no item is null."""
    mark = re.escape(delimiter)
    if not pc.any(pc.match_substring_regex(texts, f"^{mark}|{mark}{mark}|{mark}$")).as_py():
        return texts
    texts = pc.replace_substring_regex(pc.utf8_trim(texts, delimiter), f"{mark}+", delimiter.replace("\\", "\\\\"))
    return pc.if_else(pc.is_in(texts, pa.array([""])), pa.scalar(None, pa.string()), texts)
