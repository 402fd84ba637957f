"""Reads columns of a segment into Arrow arrays, memory-mapped and safe to use from several threads."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyroaring import BitMap

from segments.errors import NotFound, SegmentCorrupt
from segments.segmentfile.bits import Ids, bits_for, packed_size, unpack
from segments.segmentfile.buffers import array_of, lists_of, unpad
from segments.segmentfile.convert import ARROW
from segments.segmentfile.dictionary import BIG_ENDIAN, VAR_MAGIC, WIDTHS
from segments.segmentfile.forward import docs_per_chunk
from segments.segmentfile.info import ColumnInfo, SegmentInfo, read_info
from segments.segmentfile.javatext import decimal_from_bytes, plain_decimal
from segments.segmentfile.rawread import read_fixed, read_lists, read_rows
from segments.segmentfile.store import DICTIONARY, FORWARD, NULLS, IndexBytes, IndexStore

_ENTRY_DICT: Final = 0xFFABCDEF
_FAULTS = (ValueError, IndexError, OverflowError, struct.error, TypeError, pa.ArrowException, MemoryError)


class SegmentReader:
    """One segment on disk. Damage raises SegmentCorrupt naming file, column and offset; results stay valid after ``close``."""

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

    def column(self, name: str) -> Any:
        """A column in its stored type (int32, int64, float32, float64, string, binary, BIG_DECIMAL as string); multi-value: lists.

        Null rows hold the column's default; see :meth:`null_mask`. Raises NotFound for a column the segment does not have.
        """
        column = self._column(name)
        if not self.num_docs:
            kind = ARROW[column.stored_type]
            return pa.array([], kind if column.single_value else pa.list_(kind))
        index = self._need(column, FORWARD)
        if column.raw_forward or not column.has_dictionary:
            return self._guard(column, index, lambda: _raw(column, index, self.num_docs))
        entries = self.dictionary(name)
        if column.single_value:
            ids = self._guard(column, index, lambda: _single_ids(column, index.data, self.num_docs))
            return entries.take(pa.array(ids))
        offsets, ids = self._guard(column, index, lambda: _multi_ids(column, index.data, self.num_docs))
        return lists_of(offsets, entries.take(pa.array(ids)))

    def table(self, columns: Sequence[str]) -> pa.Table:
        """Several columns as a table, in the order given."""
        return pa.table({name: self.column(name) for name in columns})

    def dictionary(self, name: str) -> Any:
        """The dictionary of a column in its stored type, in order of the ids. Raises SegmentCorrupt when there is none."""
        column = self._column(name)
        index = self._need(column, DICTIONARY)
        return self._guard(column, index, lambda: _dictionary(column, index.data))

    def ids(self, name: str) -> Ids:
        """Dictionary ids of a column, one per value (multi-value: flat)."""
        column = self._column(name)
        index = self._need(column, FORWARD)
        read = _single_ids if column.single_value else lambda c, d, n: _multi_ids(c, d, n)[1]
        found: Ids = self._guard(column, index, lambda: read(column, index.data, self.num_docs))
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
                f"{index.file}: null vector of column '{name}' at offset {index.offset} names row {rows[-1]} of {self.num_docs}."
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

    def _column(self, name: str) -> ColumnInfo:
        try:
            return self.info.columns[name]
        except KeyError:
            raise NotFound(f"Segment '{self.info.name}' has no column '{name}'.") from None

    def _need(self, column: ColumnInfo, kind: str) -> IndexBytes:
        index = self._store.get(column, kind)
        if index is None:
            raise SegmentCorrupt(f"Segment '{self.info.name}' has no {kind} for column '{column.name}'.", remedy="Build the segment again.")
        return index

    def _guard(self, column: ColumnInfo, index: IndexBytes, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except _FAULTS as error:
            raise SegmentCorrupt(
                f"{index.file}: column '{column.name}' of segment '{self.info.name}', index at offset {index.offset}: {error}.",
                remedy="Fetch the segment again from the deep store or a peer, or build it again.",
            ) from error


def roaring_rows(data: NDArray[np.uint8]) -> BitMap:
    """A bitmap in portable form; its head is checked before the library reads it. Raises ValueError."""
    raw = data.tobytes()
    if len(raw) < 8:
        raise ValueError("the bitmap is cut short")
    cookie = int.from_bytes(raw[:2], "little")
    containers = int.from_bytes(raw[2:4], "little") + 1 if cookie == 12347 else int.from_bytes(raw[4:8], "little")
    if cookie not in (12346, 12347) or containers > 65_536 or containers * 4 > len(raw):
        raise ValueError("the bytes are no roaring bitmap")
    return BitMap.deserialize(raw)


def _dictionary(column: ColumnInfo, data: NDArray[np.uint8]) -> Any:
    stored, count = column.stored_type, column.cardinality
    if stored in WIDTHS:
        _need(len(data) == count * WIDTHS[stored], f"the dictionary has {len(data)} bytes where {count} x {WIDTHS[stored]} are needed")
        numbers = data.view(BIG_ENDIAN[stored])
        return pa.array(numbers.astype(numbers.dtype.newbyteorder("=")))
    if len(data) >= 20 and data[:8].tobytes() == VAR_MAGIC + b"\0\0\0\1":
        offsets, body = _var_dictionary(data)
        return _values(offsets, body, stored)
    width = column.entry_length
    _need(len(data) == count * width, f"the dictionary has {len(data)} bytes where {count} x {width} are needed")
    if width == 0:
        return _values(np.zeros(min(count, 1) + 1, np.int64), data, stored)
    matrix = data.reshape(count, width)
    offsets, body = unpad(matrix) if stored == "STRING" else (np.arange(count + 1) * width, data)
    return _values(offsets, body, stored)


def _var_dictionary(data: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    count, start = struct.unpack(">ii", data[8:16].tobytes())
    end = start + 4 * (count + 1)
    _need(count >= 0 and start >= 16 and end <= len(data), f"{count} entries do not fit into {len(data)} bytes")
    bounds = data[start:end].view(">i4").astype(np.int64)
    _need(bool(bounds[0] >= end and bounds[-1] <= len(data) and (np.diff(bounds) >= 0).all()), "the entries' offsets are not ascending")
    return bounds - bounds[0], data[bounds[0] : bounds[-1]]


def _values(offsets: NDArray[np.int64], data: NDArray[np.uint8], stored: str) -> Any:
    """Variable-width values as Arrow: string, binary, or decimal text."""
    array = array_of(offsets, data, text=stored == "STRING")
    if stored != "BIG_DECIMAL":
        return array
    encoded = array.dictionary_encode()
    texts = [_decimal_text(v) for v in encoded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(encoded.indices)


def _decimal_text(data: bytes) -> str:
    value: Decimal = decimal_from_bytes(data)
    return plain_decimal(value)


def _single_ids(column: ColumnInfo, data: NDArray[np.uint8], docs: int) -> Ids:
    if column.is_sorted:
        _need(len(data) == 8 * column.cardinality, f"the sorted index has {len(data)} bytes where {8 * column.cardinality} are needed")
        pairs = data.view(">i4").reshape(-1, 2).astype(np.int64)
        counts = pairs[:, 1] - pairs[:, 0] + 1
        whole = len(pairs) and pairs[0, 0] == 0 and pairs[-1, 1] == docs - 1 and bool((counts > 0).all())
        _need(bool(whole and (pairs[1:, 0] == pairs[:-1, 1] + 1).all()), f"the row ranges do not cover rows 0..{docs - 1}")
        return np.repeat(np.arange(len(pairs), dtype=np.uint32), counts)
    return _checked(_unpacked(data, docs, column.bits_per_element, "rows"), column)


def _multi_ids(column: ColumnInfo, data: NDArray[np.uint8], docs: int) -> tuple[NDArray[np.int64], Ids]:
    if len(data) >= 24 and int.from_bytes(data[:4].tobytes(), "big") == _ENTRY_DICT:
        return _entry_dict(column, data, docs)
    total = column.total_entries
    _need(total >= docs, f"{total} values can not fill {docs} rows")
    start = 4 * -(-docs // docs_per_chunk(docs, total))
    middle = start + (total + 7) // 8
    _need(middle <= len(data), f"{len(data)} bytes are too few for {total} values")
    firsts = np.flatnonzero(np.unpackbits(data[start:middle], count=total))
    _need(len(firsts) == docs and firsts[0] == 0, f"the bitmap marks {len(firsts)} rows of {docs}")
    ids = _unpacked(data[middle:], total, column.bits_per_element, "values")
    return np.append(firsts, total), _checked(ids, column)


def _entry_dict(column: ColumnInfo, data: NDArray[np.uint8], docs: int) -> tuple[NDArray[np.int64], Ids]:
    """Distinct rows once, and per row the number of its entry (segment-format.md 7.4)."""
    version, value_bits, id_bits, unique, values, offsets_at, values_at = struct.unpack(">hbbiiii", data[4:24].tobytes())
    _need(version == 1 and 0 < unique <= docs and values >= unique, f"an entry dictionary of {unique} rows is impossible")
    _need(24 <= offsets_at <= values_at <= len(data), "the entry dictionary's offsets are impossible")
    rows = _unpacked(data[24:offsets_at], docs, id_bits, "rows").astype(np.int64)
    bounds = _unpacked(data[offsets_at:values_at], unique + 1, bits_for(values + 1), "entries").astype(np.int64)
    ids = _checked(_unpacked(data[values_at:], values, value_bits, "values"), column)
    _need(
        int(rows.max()) < unique and bool((np.diff(bounds) > 0).all()) and int(bounds[-1]) == values, "the entry dictionary is inconsistent"
    )
    counts = np.diff(bounds)[rows]
    offsets = np.zeros(docs + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    _need(int(offsets[-1]) <= max(column.total_entries, 0), "the rows hold more values than the metadata says")
    places = np.repeat(bounds[rows] - offsets[:-1], counts) + np.arange(offsets[-1])
    return offsets, ids[places]


def _unpacked(data: NDArray[np.uint8], count: int, bits: int, what: str) -> Ids:
    _need(1 <= bits <= 31, f"{bits} bits per value are impossible")
    _need(packed_size(count, bits) <= len(data), f"{len(data)} bytes are too few for {count} {what} of {bits} bits")
    return unpack(data, count, bits)


def _checked(ids: Ids, column: ColumnInfo) -> Ids:
    highest = int(ids.max(initial=0))
    _need(highest < column.cardinality, f"dictionary id {highest} is beyond the {column.cardinality} entries")
    return ids


def _raw(column: ColumnInfo, index: IndexBytes, docs: int) -> Any:
    stored = column.stored_type
    if column.single_value and stored in WIDTHS:
        numbers = read_fixed(index.data, docs, stored)
        return pa.array(numbers.astype(numbers.dtype.newbyteorder("=")))
    offsets, data, version = read_rows(index.data, docs)
    if column.single_value:
        return _values(offsets, data, stored)
    rows, values = read_lists(offsets, data, version, stored)
    if isinstance(values, tuple):
        return lists_of(rows, _values(*values, stored))
    return lists_of(rows, pa.array(values.astype(values.dtype.newbyteorder("="))))


def _need(holds: bool, fault: str) -> None:
    if not holds:
        raise ValueError(fault)
