"""The rows of a large answer as values of JSON, made piece by piece when somebody reads them: as Python lists all of
them would fill the memory, in columns they take a tenth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, overload

import pyarrow as pa

from segments.dataplane.query.values import json_values
from segments.dataplane.query_bounds import rows_within
from segments.expressions.duckdb.compiled import Expr

#: Rows and values up to which an answer is a plain list, and of one piece of a larger one; a piece has at least a row.
PIECE: Final = 10_000
_VALUES: Final = 1_000_000


class PiecewiseRows(Sequence[list[Any]]):
    """Reads like a list of rows; ``pieces`` are its parts in order."""

    def __init__(self, table: pa.Table, select: Sequence[Expr]) -> None:
        self._table, self._select = table, select

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __iter__(self) -> Iterator[list[Any]]:
        for piece in self.pieces():
            yield from piece

    @overload
    def __getitem__(self, at: int) -> list[Any]: ...
    @overload
    def __getitem__(self, at: slice) -> list[list[Any]]: ...
    def __getitem__(self, at: int | slice) -> list[Any] | list[list[Any]]:
        if isinstance(at, slice):
            first, stop, step = at.indices(len(self))
            if step != 1:
                return [self[i] for i in range(first, stop, step)]
            return rows_of(self._table.slice(first, max(stop - first, 0)), self._select)
        return rows_of(self._table.slice(range(len(self))[at], 1), self._select)[0]

    def pieces(self) -> Iterator[list[list[Any]]]:
        """All rows, so many at a time."""
        size = rows_within(PIECE, _VALUES, len(self._select))
        for start in range(0, len(self), size):
            yield rows_of(self._table.slice(start, size), self._select)


def as_rows(table: pa.Table, select: Sequence[Expr]) -> Sequence[list[Any]]:
    """The merged columns ``s0``, ``s1`` ... as rows: a list when they are few."""
    is_small = table.num_rows <= rows_within(PIECE, _VALUES, len(select))
    return rows_of(table, select) if is_small else PiecewiseRows(table, select)


def rows_of(table: pa.Table, select: Sequence[Expr]) -> list[list[Any]]:
    """All rows at once."""
    columns = [json_values(table.column(f"s{i}"), e.type, mv=e.mv) for i, e in enumerate(select)]
    return [list(row) for row in zip(*columns, strict=True)]
