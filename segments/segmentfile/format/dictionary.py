"""Builds dictionaries: distinct values in Pinot's order, the id of every value, and the bytes of the file."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from segments.datatypes.compute import pc
from segments.datatypes.javatext import decimal_bytes, java_decimal, java_number, parse_decimal
from segments.segmentfile.format.bits import Ids
from segments.segmentfile.format.buffers import Bytes, Offsets, array_of, offsets_of, pad, parts
from segments.segmentfile.format.crc import java_order

VAR_MAGIC: Final = b".vl;"
WIDTHS: Final = {"INT": 4, "LONG": 8, "FLOAT": 4, "DOUBLE": 8}
BIG_ENDIAN: Final = {"INT": ">i4", "LONG": ">i8", "FLOAT": ">f4", "DOUBLE": ">f8"}
_MATRIX_LIMIT: Final = 256 << 20
_PARTS: Final = 8
_SAMPLE: Final = 5_000


@dataclass(frozen=True)
class Distinct:
    """The distinct values of a column in dictionary order. ``ids`` gives each value's position; ``low``/``high`` are
    Java text.

    Numeric: ``numbers`` is set. Other types: ``offsets`` and ``data`` hold the stored bytes.
    """

    stored_type: str
    ids: Ids
    low: str
    high: str
    numbers: NDArray[Any] | None = None
    offsets: Offsets | None = None
    data: Bytes | None = None

    @property
    def cardinality(self) -> int:
        """Number of distinct values."""
        if self.numbers is not None:
            return len(self.numbers)
        assert self.offsets is not None
        return len(self.offsets) - 1

    def binary(self) -> Any:
        """Distinct values of a variable-width type as a binary array."""
        assert self.offsets is not None
        assert self.data is not None
        return array_of(self.offsets, self.data, text=False)


def distinct(values: Any, data_type: str, stored_type: str) -> Distinct:
    """Stored values (Arrow array without nulls, at least one) -> distinct values and ids."""
    if stored_type in WIDTHS:
        return _numbers(values, stored_type)
    if (
        stored_type != "BIG_DECIMAL"
        and _is_mostly_unique(values)
        and (found := _by_sorting(values, stored_type)) is not None
    ):
        return found
    encoded = values.dictionary_encode()
    keys = encoded.indices.to_numpy()
    if stored_type == "BIG_DECIMAL":
        return _decimals(encoded.dictionary, keys)
    order = text_order(encoded.dictionary)
    ordered = encoded.dictionary.take(pa.array(order))
    ids = _ranks(order)[keys]
    del encoded, keys
    low, high = (_text(ordered[i], stored_type) for i in (0, -1))
    offsets, data = parts(ordered)
    return Distinct(stored_type, ids, low, high, offsets=offsets, data=data)


def payload(found: Distinct, *, var_length: bool = False) -> tuple[bytes, int]:
    """(bytes of the dictionary, width in bytes of the longest entry; 0 for numbers)."""
    if found.numbers is not None:
        return found.numbers.astype(BIG_ENDIAN[found.stored_type]).tobytes(), 0
    assert found.offsets is not None
    assert found.data is not None
    lengths = np.diff(found.offsets)
    width = int(lengths.max())
    if var_length or (found.stored_type != "STRING" and lengths.min() != width):
        head = 16 + 4 * len(found.offsets)
        starts = (found.offsets + head).astype(">i4").tobytes()
        return VAR_MAGIC + struct.pack(">iii", 1, len(lengths), 16) + starts + found.data.tobytes(), width
    return pad(found.offsets, found.data, width).tobytes(), width


def text_order(values: Any) -> NDArray[np.int64]:
    """Positions that put distinct strings (Java order) or binaries (unsigned order) into ascending order."""
    offsets, data = parts(values)
    if not pa.types.is_binary(values.type) and needs_java_order(data):
        texts = values.to_pylist()
        return np.array(sorted(range(len(texts)), key=lambda i: java_order(texts[i])), np.int64)
    count, width = len(offsets) - 1, int(np.diff(offsets).max(initial=0))
    if count < 10_000 or width == 0 or count * (width + 8) > _MATRIX_LIMIT:
        return np.asarray(pc.sort_indices(values).to_numpy(), np.int64)
    return _radix_order(offsets, data, width)


def _is_mostly_unique(values: Any) -> bool:
    """By a sample: then sorting all values is faster, and needs less memory, than a hash table of nearly
    all of them.
    """
    if len(values) < 50_000:
        return False
    sample = values.take(pa.array(np.arange(0, len(values), len(values) // _SAMPLE)))
    return bool(2 * len(sample.unique()) > len(sample))


def _by_sorting(values: Any, stored_type: str) -> Distinct | None:
    """Distinct texts or bytes without a hash table; None when their order or length needs the other way."""
    offsets, data = parts(values)
    width = int(np.diff(offsets).max())
    if width == 0 or len(values) * (width + 8) > _MATRIX_LIMIT or (stored_type == "STRING" and needs_java_order(data)):
        return None
    order = _radix_order(offsets, data, width)
    ordered = values.take(pa.array(order))
    ids, is_first = _ids_of_sorted(
        order, np.asarray(pc.not_equal(ordered.slice(1), ordered.slice(0, len(ordered) - 1)))
    )
    if not is_first.all():
        ordered = ordered.filter(pa.array(is_first))
    low, high = (_text(ordered[i], stored_type) for i in (0, -1))
    starts, body = parts(ordered)
    return Distinct(stored_type, ids, low, high, offsets=starts, data=body)


def _ids_of_sorted(order: NDArray[np.int64], differs: NDArray[np.bool_]) -> tuple[Ids, NDArray[np.bool_]]:
    """Ids by row, and which of the sorted values begin a new entry; ``differs`` compares each with the one before."""
    is_first = np.ones(len(order), bool)
    is_first[1:] = differs
    ids = np.empty(len(order), np.uint32)
    ids[order] = np.cumsum(is_first, dtype=np.uint32) - np.uint32(1)
    return ids, is_first


def needs_java_order(data: Bytes) -> bool:
    """UTF-8 and UTF-16 order differ only when U+E000..U+FFFF meets characters beyond U+FFFF."""
    if not len(data) or data.max() < 0xF0:
        return False
    return bool(((data == 0xEE) | (data == 0xEF)).any())


def _radix_order(offsets: Offsets, data: Bytes, width: int) -> NDArray[np.int64]:
    """Sort by 8 bytes at a time as numbers; only ties compare the next 8. The length decides last (bytes
    may end in 0).
    """
    words = (width + 7) // 8
    keys = pad(offsets, data, words * 8).reshape(-1, words, 8).view(">u8")[:, :, 0].astype(np.uint64)
    lengths = np.diff(offsets).astype(np.uint64)
    order = np.argsort(keys[:, 0], kind="stable").astype(np.int64)
    same = keys[order[1:], 0] == keys[order[:-1], 0]
    if not same.any():
        return order
    tied = np.zeros(len(order), bool)
    tied[1:] |= same
    tied[:-1] |= same
    places = np.flatnonzero(tied)
    members = order[places]
    columns = [lengths[members]] + [keys[members, w] for w in range(words - 1, -1, -1)]
    order[places] = members[np.lexsort(columns)]
    return order


def _numbers(values: Any, stored_type: str) -> Distinct:
    numbers = values.to_numpy(zero_copy_only=False)
    unique, ids = _small_range(numbers) if stored_type in ("INT", "LONG") else (None, None)
    if (unique is None or ids is None) and _is_mostly_unique(values):
        order = np.argsort(numbers)
        ordered = numbers[order]
        ids, is_first = _ids_of_sorted(order, ordered[1:] != ordered[:-1])
        unique = ordered[is_first]
    elif unique is None or ids is None:
        encoded = values.dictionary_encode()
        found = encoded.dictionary.to_numpy(zero_copy_only=False)
        order = np.argsort(found)
        unique, ids = found[order], _ranks(order)[encoded.indices.to_numpy()]
    low, high = (java_number(unique[i], stored_type) for i in (0, -1))
    return Distinct(stored_type, ids, low, high, numbers=unique)


def _small_range(numbers: NDArray[Any]) -> tuple[NDArray[Any] | None, Ids | None]:
    """Whole numbers in a narrow range: a table of what is present replaces sorting."""
    low, high = int(numbers.min()), int(numbers.max())
    span = high - low + 1
    if span > max(1 << 16, 2 * len(numbers)):
        return None, None
    places = (numbers - numbers.dtype.type(low)).astype(np.int64) if low else numbers
    present = np.zeros(span, bool)
    present[places] = True
    unique = (np.flatnonzero(present) + low).astype(numbers.dtype)
    ranks = (np.cumsum(present) - 1).astype(np.uint32)
    return unique, ranks[places]


def count_small_range(numbers: NDArray[Any]) -> int | None:
    """Number of distinct whole numbers, or None when their range is too wide to count cheaply."""
    unique, _ = _small_range(numbers)
    return None if unique is None else len(unique)


def count_distinct(values: Any, offsets: Offsets, data: Bytes) -> int:
    """Number of distinct strings or binaries, counted in disjoint parts: a hash table of all would be larger than the
    column itself.
    """
    if len(values) < 100_000:
        return int(pc.count_distinct(values).as_py())
    lengths = np.diff(offsets)
    last = np.where(lengths > 0, data[np.maximum(offsets[1:] - 1, 0)] if len(data) else 0, 0)
    part = ((last + lengths) % _PARTS).astype(np.uint8)
    return sum(int(pc.count_distinct(values.filter(pa.array(part == p))).as_py()) for p in range(_PARTS))


def _ranks(order: NDArray[Any]) -> Ids:
    ranks = np.empty(len(order), np.uint32)
    ranks[order] = np.arange(len(order), dtype=np.uint32)
    return ranks


def _decimals(texts: Any, keys: NDArray[Any]) -> Distinct:
    """Distinct texts may be equal numbers (``1.0`` and ``1``), so the numbers are made distinct once more."""
    given = [parse_decimal(t) for t in texts.to_pylist()]
    ordered: list[Decimal] = sorted(set(given))
    place = {value: i for i, value in enumerate(ordered)}
    ids = np.array([place[v] for v in given], np.uint32)[keys]
    stored = [decimal_bytes(v) for v in ordered]
    offsets = offsets_of(np.array([len(s) for s in stored], np.int64))
    low, high = java_decimal(ordered[0]), java_decimal(ordered[-1])
    return Distinct("BIG_DECIMAL", ids, low, high, offsets=offsets, data=np.frombuffer(b"".join(stored), np.uint8))


def _text(value: Any, stored_type: str) -> str:
    return str(value.as_py()) if stored_type == "STRING" else value.as_py().hex()
