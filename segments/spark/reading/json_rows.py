"""Rows of a JSON file: objects line by line, in one array, or one after the other."""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
import pyarrow as pa
import pyarrow.json as pajson

from segments.datatypes.convert import NUMBERS
from segments.datatypes.jsontext import check_depth
from segments.domain.push.push_plan import Piece, Unit
from segments.domain.tables.schema import FieldSpec, Schema
from segments.errors import InvalidInput
from segments.segmentfile.columns.complex_type import ComplexType
from segments.spark.reading.joined import joined
from segments.spark.reading.json_text import BLOCK, ValueLines, has_object_lines, whole_lines
from segments.spark.reading.locate import json_object
from segments.spark.reading.notes import FileNotes
from segments.spark.reading.raw_rows import raw_rows
from segments.spark.reading.text import Text
from segments.spark.reading.unnested import Unnesting

#: Bytes and lines at either end of a chunk in which unknown keys are searched for.
_SAMPLE: Final = 1 << 16
_SAMPLED: Final = 100


def json_rows(
    text: Text, piece: Piece, schema: Schema, notes: FileNotes | None, complex_type: ComplexType | None
) -> pa.Table:
    """The schema's columns of a piece, without those that no row mentions. Raises InvalidInput naming file and line."""
    file = _JsonPiece(text, piece, schema, notes, complex_type)
    tables = list(file.tables())
    table = joined(tables) if tables else raw_rows((), schema)
    return table.drop_columns([n for n in table.column_names if n not in file.mentioned])


def count_json(text: Text) -> int:
    """How many rows a file has; memory does not grow with it."""
    lines = _line_chunks(text, Piece(text.source.stat(text.path)))
    return sum(1 for chunk in lines for line in chunk.splitlines() if line.strip())


def _line_chunks(text: Text, piece: Piece, values: ValueLines | None = None) -> Iterator[bytes]:
    """Chunks of lines, one value each."""
    if piece.unit is Unit.BYTES:
        return whole_lines(text.chunks(piece.start, piece.stop, BLOCK))
    if has_object_lines(next(text.chunks(size=_SAMPLE), b"")):
        return whole_lines(text.chunks(size=BLOCK))
    return (values or ValueLines()).lines(text.chunks(size=BLOCK))


def json_lines_of(text: Text, piece: Piece, rows: Collection[int]) -> dict[int, int]:
    """{row of the piece, from 0: the line on which it begins}, as far as they are there; one walk."""
    wanted, found, values = set(rows), dict[int, int](), ValueLines(keeps_lines=True)
    start, stop = (0, None) if piece.unit is Unit.BYTES else (piece.start, piece.stop)
    passed, line, at = 0, 0, 0
    for chunk in _line_chunks(text, piece, values):
        kept, before, rows_here = _sliced(chunk, start, stop, passed)
        passed += rows_here
        for number, one in enumerate(kept.split(b"\n"), line + before):
            if one.strip() and not _row(one)[1]:
                if at in wanted:
                    found[at] = values.began[number] if values.began else number + 1
                at += 1
        line += chunk.count(b"\n")
        if at > max(wanted, default=-1):
            break
    before = text.lines_before(piece)
    return {row: line + before for row, line in found.items()}


@dataclass
class _JsonPiece:
    """A piece on its way into columns."""

    text: Text
    piece: Piece
    schema: Schema
    notes: FileNotes | None
    complex_type: ComplexType | None
    mentioned: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        of = self.complex_type
        self._unnesting = None if of is None else Unnesting(self.text.path, of, self.schema, self.notes)
        kinds = [(f.name, _kind(f)) for f in self.schema.fields]
        self._types = pa.schema(kinds)
        self._values = ValueLines(keeps_lines=True)

    def tables(self) -> Iterator[pa.Table]:
        """Tables of the piece's rows, a chunk each."""
        passed = line = 0
        start, stop = (0, None) if self.piece.unit is Unit.BYTES else (self.piece.start, self.piece.stop)
        for chunk in _line_chunks(self.text, self.piece, self._values):
            kept, lines, rows = _sliced(chunk, start, stop, passed)
            passed += rows
            if kept.strip():
                self._note_keys(kept)
                yield self._table(kept, line + lines)
            line += chunk.count(b"\n")
            if stop is not None and passed >= stop:
                return
        if not self._values.is_complete:
            raise InvalidInput(
                f"Input file '{self.text.path}' cannot be read: it ends within a value or its array.",
                remedy="Check that it is whole.",
            )

    def _table(self, chunk: bytes, before: int) -> pa.Table:
        table = self._at_once(chunk) if self._unnesting is None else None
        if table is not None:
            self._mention(name for name in table.column_names if _is_there(table, name, chunk))
            return table
        rows = self._one_by_one(chunk, before)
        if self._unnesting is None:
            self._mention({key for row in rows for key in row})
            return raw_rows(rows, self.schema)
        found = self._unnesting.table(rows)
        self.mentioned |= self._unnesting.mentioned
        return found

    def _mention(self, names: Any) -> None:
        self.mentioned.update(n for n in names if n in self.schema.by_name)

    def _at_once(self, chunk: bytes) -> pa.Table | None:
        """By Arrow's reader; None when a value is not of its column's type, or the text is not JSON."""
        options = pajson.ParseOptions(
            explicit_schema=self._types, unexpected_field_behavior="ignore", newlines_in_values=False
        )
        block = pajson.ReadOptions(use_threads=False, block_size=max(len(chunk), 1 << 16))
        try:
            pa.array([chunk], pa.binary()).cast(pa.string())  # Arrow's reader takes bytes that are not UTF-8
            return pajson.read_json(io.BytesIO(chunk), block, options)
        except pa.ArrowException:
            return None

    def _one_by_one(self, chunk: bytes, before: int) -> list[dict[str, Any]]:
        rows = []
        for number, line in enumerate(chunk.split(b"\n"), before):
            if not line.strip():
                continue
            row, fault = _row(line)
            if not fault:
                rows.append(row)
                continue
            at = self._line(number)
            if self.notes is None:
                raise InvalidInput(
                    f"Input file '{self.text.path}' line {at}: {fault}.", remedy="Correct the line.", line=at
                )
            self.notes.list_bad(at, line.decode(errors="replace"), f"{fault}.")
        return rows

    def _line(self, number: int) -> int:
        """The line in the file of a line of the cut text, from 0."""
        if self._values.began:
            return self._values.began[min(number, len(self._values.began) - 1)]
        return number + 1 + self.text.lines_before(self.piece)

    def _note_keys(self, chunk: bytes) -> None:
        """Keys that the schema has not, as far as the first and last lines of a chunk show; reading each would take
        longer than reading them.
        """
        if self.notes is None or self._unnesting is not None:
            return
        ends = [*chunk[:_SAMPLE].splitlines()[:_SAMPLED], *chunk[-_SAMPLE:].splitlines()[-_SAMPLED:]]
        keys = (k for line in ends for k in json_object(line) or () if k not in self.schema.by_name)
        self.notes.ignored = list(dict.fromkeys([*self.notes.ignored, *keys]))


def _kind(spec: FieldSpec) -> Any:
    kind = NUMBERS.get(spec.data_type, pa.string())
    return kind if spec.single_value else pa.list_(kind)


def _is_there(table: pa.Table, name: str, chunk: bytes) -> bool:
    """Is a column mentioned in the text, as it must be when a row has a value?"""
    return table.column(name).null_count < table.num_rows or json.dumps(name).encode() in chunk


def _sliced(chunk: bytes, start: int, stop: int | None, passed: int) -> tuple[bytes, int, int]:
    """(the lines of a chunk that are rows ``start`` to ``stop``, lines before them, all rows of the chunk)."""
    if start <= passed and stop is None:
        return chunk, 0, 0
    lines = chunk.split(b"\n")
    places = [at for at, line in enumerate(lines) if line.strip()]
    first = max(start - passed, 0)
    last = len(places) if stop is None else min(stop - passed, len(places))
    if first >= last:
        return b"", 0, len(places)
    return b"\n".join(lines[places[first] : places[last - 1] + 1]), places[first], len(places)


def _row(line: bytes) -> tuple[dict[str, Any], str]:
    """(the object of a line, "") or ({}, what is wrong with it)."""
    try:
        row = orjson.loads(line)
    except ValueError:
        try:
            row = json.loads(line)  # takes NaN as Jackson does, and half a surrogate pair
        except (ValueError, RecursionError) as error:
            return {}, f"no valid JSON: {error}"
    if not isinstance(row, dict):
        return {}, "no JSON object"
    try:
        check_depth(line, row)
    except ValueError as error:
        return {}, str(error)
    return row, ""
