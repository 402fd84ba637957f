"""Rows of Parquet and ORC files: the columns that the schema has, all of them or some row groups or stripes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from segments.domain.push.push_plan import Piece, Unit
from segments.domain.tables.schema import Schema
from segments.errors import InvalidInput
from segments.gateways.input_files.source import InputSource
from segments.segmentfile.columns.complex_type import ComplexType
from segments.spark.reading.joined import joined
from segments.spark.reading.notes import FileNotes
from segments.spark.reading.raw_rows import nested_as_text, raw_rows
from segments.spark.reading.sample.weight import light_rows
from segments.spark.reading.text import brief
from segments.spark.reading.unnested import Unnesting

_NAMES: Final = {"parquet": "a Parquet", "orc": "an ORC"}
#: Types within one another that are read; as many as Arrow reads of Parquet.
_DEEPEST: Final = 100
#: Of the first rows of a Parquet file: rows that are decoded at a time, and bytes of a column that are read.
_STEP: Final = 500
_BUFFER: Final = 1 << 20


class _Groups(Protocol):
    """A file of groups of rows."""

    names: list[str]

    def sizes(self) -> list[tuple[int, int]]:
        """(rows, bytes unpacked, as far as known) of each group."""

    def read(self, group: int, columns: list[str]) -> pa.Table:
        """One group."""

    def first(self, most: int, most_bytes: int) -> pa.Table:
        """``most`` rows from the beginning with all columns; fewer when they weigh more than ``most_bytes``."""


class _Parquet:
    def __init__(self, file: Any, buffer: int) -> None:
        self._file = pq.ParquetFile(file, buffer_size=buffer)
        self.names = list(self._file.schema_arrow.names)

    def sizes(self) -> list[tuple[int, int]]:
        found = [self._file.metadata.row_group(i) for i in range(self._file.num_row_groups)]
        return [(int(g.num_rows), int(g.total_byte_size)) for g in found]

    def read(self, group: int, columns: list[str]) -> pa.Table:
        return self._file.read_row_group(group, columns=columns, use_threads=False)

    def first(self, most: int, most_bytes: int) -> pa.Table:
        found = pa.Table.from_batches([], self._file.schema_arrow)
        for batch in self._file.iter_batches(batch_size=_STEP, use_threads=False):
            more = _checked(pa.concat_tables([found, pa.Table.from_batches([batch])]))
            found = light_rows(more.slice(0, most), most_bytes)
            if found.num_rows < more.num_rows or found.num_rows >= most:
                break
        return found


class _Orc:
    def __init__(self, file: Any) -> None:
        self._file = orc.ORCFile(file)
        _check_depth(self._file.schema)
        self.names = list(self._file.schema.names)

    def sizes(self) -> list[tuple[int, int]]:
        """ORC names the rows of the file only: they are shared out evenly."""
        count = self._file.nstripes
        rows, size = int(self._file.nrows), int(self._file.content_length) * 3
        return [(rows * (i + 1) // count - rows * i // count, size // count) for i in range(count)]

    def read(self, group: int, columns: list[str]) -> pa.Table:
        return pa.Table.from_batches([self._file.read_stripe(group, columns=columns)])

    def first(self, most: int, most_bytes: int) -> pa.Table:
        found = [self._file.read_stripe(0).slice(0, most)] if self._file.nstripes else []
        return light_rows(_checked(pa.Table.from_batches(found, self._file.schema)), most_bytes)


@dataclass(frozen=True)
class Columnar:
    """A file whose rows stand in groups, in columns. ``data_format``: parquet or orc. ``raw_times``: times and dates
    are the numbers they are stored as.
    """

    path: str
    data_format: str
    source: InputSource
    raw_times: bool = False

    def count(self) -> int:
        """How many rows it has."""
        with self._opened() as file:
            return self._total(file)

    def group_sizes(self) -> list[int]:
        """About how many bytes each group has, unpacked."""
        with self._opened() as file:
            return [size for _, size in file.sizes()]

    def first_rows(self, most: int, most_bytes: int) -> tuple[pa.Table, bool]:
        """(the first ``most`` rows with all columns, or as many as weigh ``most_bytes``; are they all rows). Raises
        InvalidInput naming the file, also when its first row alone weighs more.
        """
        with self._opened(_BUFFER) as file:
            table, total = file.first(most, most_bytes), self._total(file)
            if total and not table.num_rows:
                raise InvalidInput(
                    f"The first row of input file '{self.path}' has more than {most_bytes >> 20} MB.",
                    remedy="Choose another file, or create the schema with POST /schemas.",
                )
            return self._as_stored(table), table.num_rows == total

    def rows(self, piece: Piece, schema: Schema, notes: FileNotes | None, complex_type: ComplexType | None) -> pa.Table:
        """The schema's columns of a piece. Raises InvalidInput naming the file."""
        with self._opened() as file:
            columns = [c for c in file.names if c in schema.by_name]
            if complex_type is None and not columns:
                raise InvalidInput(
                    f"Input file '{self.path}' has no column of schema '{schema.name}'.",
                    remedy="Check the columns' names.",
                )
            if notes is not None and complex_type is None:
                notes.ignored = [c for c in file.names if c not in schema.by_name]
            names = columns if complex_type is None else file.names
            tables = map(self._as_stored, self._tables(file, piece, names, notes))
            if complex_type is None:
                found = [nested_as_text(t, schema) for t in tables]
                return joined(found) if found else raw_rows((), schema).select(columns)
            unnesting = Unnesting(self.path, complex_type, schema, notes)
            made = [unnesting.table(t.to_pylist(maps_as_pydicts="lossy")) for t in tables]
            return joined(made).select(sorted(unnesting.mentioned)) if made else raw_rows((), schema)

    def _as_stored(self, table: pa.Table) -> pa.Table:
        if not self.raw_times:
            return table
        return table.cast(pa.schema([f.with_type(_number_of(f.type)) for f in table.schema]))

    @staticmethod
    def _total(file: _Groups) -> int:
        return int(file._file.nrows) if isinstance(file, _Orc) else sum(rows for rows, _ in file.sizes())

    def _tables(self, file: _Groups, piece: Piece, columns: list[str], notes: FileNotes | None) -> Iterator[pa.Table]:
        sizes = file.sizes()
        last = len(sizes) if piece.unit is Unit.ROWS or piece.stop is None else piece.stop
        first = 0 if piece.unit is Unit.ROWS else piece.start
        if notes is not None and piece.unit is Unit.GROUPS:
            notes.first_row = sum(rows for rows, _ in sizes[:first])
        passed = 0
        for group in range(first, last):
            if piece.unit is Unit.GROUPS:
                yield _checked(file.read(group, columns))
                continue
            stop = piece.stop
            if stop is not None and passed >= stop:
                return
            if isinstance(file, _Parquet) and passed + sizes[group][0] <= piece.start:
                passed += sizes[group][0]
                continue
            table = _checked(file.read(group, columns))
            start = max(piece.start - passed, 0)
            end = table.num_rows if stop is None else min(stop - passed, table.num_rows)
            passed += table.num_rows
            if start < end:
                yield table.slice(start, end - start)

    @contextmanager
    def _opened(self, buffer: int = 0) -> Iterator[_Parquet | _Orc]:
        """``buffer``: bytes of a Parquet column that are read at a time; 0: all of a row group."""
        try:
            with self.source.open(self.path) as file:
                yield _Orc(file) if self.data_format == "orc" else _Parquet(file, buffer)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise InvalidInput(
                f"Input file '{self.path}' cannot be read: {brief(error)}.",
                remedy=f"Check that it is {_NAMES[self.data_format]} file, and whole.",
            ) from error


def _number_of(kind: Any) -> Any:
    """The type of the numbers that times and dates of a type are stored as, also within lists and structs."""
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind) or pa.types.is_date64(kind):
        return pa.int64()
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return pa.int32()
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(_number_of(f.type)) for f in (kind.field(i) for i in range(kind.num_fields))])
    if pa.types.is_map(kind):
        return pa.map_(_number_of(kind.key_type), _number_of(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(_number_of(kind.value_type))
    return kind


def _check_depth(schema: pa.Schema) -> None:
    """Arrow reads nested columns of ORC by recursion, and thousands of levels end the process."""
    level: list[Any] = list(schema)
    for _ in range(_DEEPEST):
        level = [kind.field(i) for kind in (f.type for f in level) for i in range(kind.num_fields)]
    if level:
        raise pa.ArrowInvalid(f"its types are nested more than {_DEEPEST} deep")


def _checked(table: pa.Table) -> pa.Table:
    """Arrow believes the file: text that is none would be found much later."""
    table.validate(full=True)
    return table
