"""Decodes the bytes of one column's index into Arrow and NumPy.

Faults are raised as ValueError (or what the libraries raise); the reader adds file, column and offset.
"""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyroaring import BitMap

from segments.datatypes.javatext import decimal_from_bytes, plain_decimal
from segments.segmentfile.format.bits import Ids, bits_for, packed_size, unpack
from segments.segmentfile.format.buffers import array_of, lists_of, offsets_of, unpad
from segments.segmentfile.format.dictionary import BIG_ENDIAN, VAR_MAGIC, WIDTHS
from segments.segmentfile.format.forward import docs_per_chunk
from segments.segmentfile.format.info import ColumnInfo
from segments.segmentfile.format.rawread import read_fixed, read_lists, read_rows

_ENTRY_DICT: Final = 0xFFABCDEF


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


def decode_dictionary(column: ColumnInfo, data: NDArray[np.uint8]) -> Any:
    """A dictionary's entries in their stored type, in order of the ids."""
    stored, count = column.stored_type, column.cardinality
    if stored in WIDTHS:
        _need(
            len(data) == count * WIDTHS[stored],
            f"the dictionary has {len(data)} bytes where {count} x {WIDTHS[stored]} are needed",
        )
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
    _need(
        bool(bounds[0] >= end and bounds[-1] <= len(data) and (np.diff(bounds) >= 0).all()),
        "the entries' offsets are not ascending",
    )
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


def single_ids(column: ColumnInfo, data: NDArray[np.uint8], docs: int, start: int, stop: int) -> Ids:
    """Dictionary ids of rows ``start`` to ``stop`` of a single-value column; other rows are not unpacked."""
    if column.is_sorted:
        _need(
            len(data) == 8 * column.cardinality,
            f"the sorted index has {len(data)} bytes where {8 * column.cardinality} are needed",
        )
        pairs = data.view(">i4").reshape(-1, 2).astype(np.int64)
        counts = pairs[:, 1] - pairs[:, 0] + 1
        whole = len(pairs) and pairs[0, 0] == 0 and pairs[-1, 1] == docs - 1 and bool((counts > 0).all())
        _need(
            bool(whole and (pairs[1:, 0] == pairs[:-1, 1] + 1).all()), f"the row ranges do not cover rows 0..{docs - 1}"
        )
        inside = np.minimum(pairs[:, 1] + 1, stop) - np.maximum(pairs[:, 0], start)
        return np.repeat(np.arange(len(pairs), dtype=np.uint32), np.maximum(inside, 0))
    return _checked(_unpacked(data, docs, column.bits_per_element, "rows", start, stop), column)


def multi_ids(
    column: ColumnInfo, data: NDArray[np.uint8], docs: int, start: int, stop: int
) -> tuple[NDArray[np.int64], Ids]:
    """(row offsets from 0, dictionary ids) of rows ``start`` to ``stop`` of a multi-value column."""
    if len(data) >= 24 and int.from_bytes(data[:4].tobytes(), "big") == _ENTRY_DICT:
        return _entry_dict(column, data, docs, start, stop)
    total = column.total_entries
    _need(total >= docs, f"{total} values cannot fill {docs} rows")
    head = 4 * -(-docs // docs_per_chunk(docs, total))
    middle = head + (total + 7) // 8
    _need(middle <= len(data), f"{len(data)} bytes are too few for {total} values")
    firsts = np.flatnonzero(np.unpackbits(data[head:middle], count=total))
    _need(len(firsts) == docs and firsts[0] == 0, f"the bitmap marks {len(firsts)} rows of {docs}")
    offsets = np.append(firsts, total)[start : stop + 1]
    ids = _unpacked(data[middle:], total, column.bits_per_element, "values", int(offsets[0]), int(offsets[-1]))
    return offsets - offsets[0], _checked(ids, column)


def _entry_dict(
    column: ColumnInfo, data: NDArray[np.uint8], docs: int, start: int, stop: int
) -> tuple[NDArray[np.int64], Ids]:
    """Distinct rows once, and per row the number of its entry."""
    version, value_bits, id_bits, unique, values, offsets_at, values_at = struct.unpack(
        ">hbbiiii", data[4:24].tobytes()
    )
    _need(
        version == 1 and 0 < unique <= docs and values >= unique, f"an entry dictionary of {unique} rows is impossible"
    )
    _need(24 <= offsets_at <= values_at <= len(data), "the entry dictionary's offsets are impossible")
    rows = _unpacked(data[24:offsets_at], docs, id_bits, "rows").astype(np.int64)
    bounds = _unpacked(data[offsets_at:values_at], unique + 1, bits_for(values + 1), "entries").astype(np.int64)
    ids = _checked(_unpacked(data[values_at:], values, value_bits, "values"), column)
    _need(
        int(rows.max()) < unique and bool((np.diff(bounds) > 0).all()) and int(bounds[-1]) == values,
        "the entry dictionary is inconsistent",
    )
    rows = rows[start:stop]
    counts = np.diff(bounds)[rows]
    offsets = offsets_of(counts)
    _need(int(offsets[-1]) <= max(column.total_entries, 0), "the rows hold more values than the metadata says")
    places = np.repeat(bounds[rows] - offsets[:-1], counts) + np.arange(offsets[-1])
    return offsets, ids[places]


def _unpacked(
    data: NDArray[np.uint8], count: int, bits: int, what: str, start: int = 0, stop: int | None = None
) -> Ids:
    _need(1 <= bits <= 31, f"{bits} bits per value are impossible")
    _need(packed_size(count, bits) <= len(data), f"{len(data)} bytes are too few for {count} {what} of {bits} bits")
    base, end = start // 8 * 8, count if stop is None else stop  # eight ids begin at a whole byte
    return unpack(data[base * bits // 8 :], end - base, bits)[start - base :]


def _checked(ids: Ids, column: ColumnInfo) -> Ids:
    highest = int(ids.max(initial=0))
    _need(highest < column.cardinality, f"dictionary id {highest} is beyond the {column.cardinality} entries")
    return ids


def raw_values(column: ColumnInfo, data: NDArray[np.uint8], docs: int, start: int, stop: int) -> Any:
    """Rows ``start`` to ``stop`` of a raw column as Arrow; chunks without such rows are not decompressed."""
    stored = column.stored_type
    if column.single_value and stored in WIDTHS:
        numbers = read_fixed(data, docs, stored, start, stop)
        return pa.array(numbers.astype(numbers.dtype.newbyteorder("=")))
    offsets, body, version = read_rows(data, docs, start, stop)
    if column.single_value:
        return _values(offsets, body, stored)
    rows, values = read_lists(offsets, body, version, stored)
    if isinstance(values, tuple):
        return lists_of(rows, _values(*values, stored))
    return lists_of(rows, pa.array(values.astype(values.dtype.newbyteorder("="))))


def _need(holds: bool, fault: str) -> None:
    if not holds:
        raise ValueError(fault)
