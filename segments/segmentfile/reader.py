"""Reads columns of a segment into Arrow arrays, memory-mapped and safe to use from several threads."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from segments.datatypes.convert import ARROW
from segments.errors import NotFound, SegmentCorrupt
from segments.segmentfile.format.bits import Ids
from segments.segmentfile.format.buffers import lists_of
from segments.segmentfile.format.decode import decode_dictionary, multi_ids, raw_values, roaring_rows, single_ids
from segments.segmentfile.format.info import ColumnInfo, SegmentInfo, read_info
from segments.segmentfile.format.store import DICTIONARY, FORWARD, NULLS, IndexBytes, IndexStore

_FAULTS = (ValueError, IndexError, OverflowError, struct.error, TypeError, pa.ArrowException, MemoryError)


class SegmentReader:
    """One segment on disk. Damage raises SegmentCorrupt naming file, column and offset; results stay valid after
    ``close``.
    """

    def __init__(self, segment_dir: Path) -> None:
        self.info: SegmentInfo = read_info(segment_dir)
        self.num_docs: int = self.info.total_docs
        self._store = IndexStore(segment_dir, self.info)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the mapped file."""
        self._store.close()

    def column(self, name: str, start: int = 0, stop: int | None = None) -> Any:
        """Rows ``start`` to ``stop`` (exclusive; default: all) of a column in its stored type; other rows are not
        decoded.

        int32, int64, float32, float64, string, binary, BIG_DECIMAL as string; multi-value: lists of them; MAP:
        undecoded bytes. Null rows hold the column's default; see :meth:`null_mask`. Raises NotFound for a column the
        segment does not have.
        """
        column = self._column(name)
        first, last = self._range(start, stop)
        if first >= last:
            kind = ARROW.get(column.stored_type, pa.binary())
            return pa.array([], kind if column.single_value else pa.list_(kind))
        index = self._need(column, FORWARD)
        if column.raw_forward or not column.has_dictionary:
            return self._guard(column, index, lambda: raw_values(column, index.data, self.num_docs, first, last))
        entries = self.dictionary(name)
        if column.single_value:
            # Taking is guarded too: a variable-length dictionary may hold fewer entries than the metadata say.
            return self._guard(
                column,
                index,
                lambda: entries.take(pa.array(single_ids(column, index.data, self.num_docs, first, last))),
            )
        return self._guard(
            column, index, lambda: _lists(entries, *multi_ids(column, index.data, self.num_docs, first, last))
        )

    def table(self, columns: Sequence[str], start: int = 0, stop: int | None = None) -> pa.Table:
        """Rows ``start`` to ``stop`` (exclusive; default: all) of several columns as a table, in the order given."""
        return pa.table({name: self.column(name, start, stop) for name in columns})

    def dictionary(self, name: str) -> Any:
        """The dictionary of a column in its stored type, in order of the ids. Raises SegmentCorrupt when
        there is none.
        """
        column = self._column(name)
        index = self._need(column, DICTIONARY)
        return self._guard(column, index, lambda: decode_dictionary(column, index.data))

    def ids(self, name: str) -> Ids:
        """Dictionary ids of a column, one per value (multi-value: flat)."""
        column = self._column(name)
        index = self._need(column, FORWARD)
        docs = self.num_docs

        def read() -> Ids:
            if column.single_value:
                return single_ids(column, index.data, docs, 0, docs)
            return multi_ids(column, index.data, docs, 0, docs)[1]

        found: Ids = self._guard(column, index, read)
        return found

    def null_mask(self, name: str) -> NDArray[np.bool_] | None:
        """True where the row's value was null; None when the segment records no nulls for the column."""
        column = self._column(name)
        index = self._store.get(column, NULLS)
        if index is None:
            return None
        rows = self._guard(column, index, lambda: np.array(roaring_rows(index.data), np.int64))
        if len(rows) and rows[-1] >= self.num_docs:
            raise SegmentCorrupt(
                f"{index.file}: null vector of column '{name}' at offset {index.offset} names row {rows[-1]} of "
                f"{self.num_docs}."
            )
        mask = np.zeros(self.num_docs, bool)
        mask[rows] = True
        return mask

    def index(self, name: str, kind: str) -> IndexBytes | None:
        """The bytes of one index (``inverted_index``, ...) as stored, or None."""
        return self._store.get(self._column(name), kind)

    def places(self) -> dict[tuple[str, str], tuple[int, int]]:
        """(column, index id) -> (offset, size) of a v3 segment's index map."""
        return dict(self._store.entries)

    def _range(self, start: int, stop: int | None) -> tuple[int, int]:
        first, last = max(start, 0), self.num_docs if stop is None else min(stop, self.num_docs)
        return first, last

    def _column(self, name: str) -> ColumnInfo:
        try:
            return self.info.columns[name]
        except KeyError:
            raise NotFound(f"Segment '{self.info.name}' has no column '{name}'.") from None

    def _need(self, column: ColumnInfo, kind: str) -> IndexBytes:
        index = self._store.get(column, kind)
        if index is None:
            raise SegmentCorrupt(
                f"Segment '{self.info.name}' has no {kind} for column '{column.name}'.",
                remedy="Build the segment again.",
            )
        return index

    def _guard(self, column: ColumnInfo, index: IndexBytes, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except _FAULTS as error:
            raise SegmentCorrupt(
                f"{index.file}: column '{column.name}' of segment '{self.info.name}', index at offset "
                f"{index.offset}: {error}.",
                remedy="Fetch the segment again from the deep store or a peer, or build it again.",
            ) from error


def _lists(entries: Any, offsets: NDArray[np.int64], ids: Ids) -> Any:
    return lists_of(offsets, entries.take(pa.array(ids)))
