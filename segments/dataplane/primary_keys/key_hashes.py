"""128 bits that stand for the primary key of a row, computed column by column.

Two multiplicative hashes of 64 bits with secrets of this process: numbers of up to 64 bits never collide in either,
and nobody outside can choose texts that do.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from segments.segmentfile.format.buffers import parts

Words = NDArray[np.uint64]

_SEEDS: Final = tuple(np.uint64(secrets.randbits(64) | 1) for _ in range(4))
_FACTORS: Final = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
_SHIFT: Final = np.uint64(33)
_TURN: Final = np.uint64(29)
_WORD: Final = 8


@dataclass(frozen=True)
class Hashes:
    """Two 64-bit halves per row."""

    high: Words
    low: Words

    def __len__(self) -> int:
        return len(self.high)

    def take(self, at: Any) -> Hashes:
        """Those of the rows named by positions, a mask or a slice."""
        return Hashes(self.high[at], self.low[at])


def hash_rows(columns: Sequence[Any], rows: int) -> Hashes:
    """The keys made of these columns (Arrow arrays, chunked or not, of stored types), each of so many rows."""
    high, low = np.full(rows, _SEEDS[0]), np.full(rows, _SEEDS[1])
    for column in columns:
        pieces = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        start = 0
        for piece in pieces:
            stop = start + len(piece)
            found = _of_array(piece)
            high[start:stop] = _mixed(high[start:stop] * _SEEDS[2] ^ found.high)
            low[start:stop] = _mixed(low[start:stop] * _SEEDS[3] ^ found.low)
            start = stop
    return Hashes(high, low)


def _of_array(values: Any) -> Hashes:
    """Of one Arrow array; a dictionary's values are hashed once each."""
    if pa.types.is_dictionary(values.type):
        return _of_array(values.dictionary).take(values.indices.to_numpy(zero_copy_only=False))
    if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
        return _of_texts(values)
    if pa.types.is_large_string(values.type) or pa.types.is_large_binary(values.type):
        return _of_texts(pc.cast(values, pa.binary()))
    numbers = values.to_numpy(zero_copy_only=False)
    wide = numbers.astype(np.float64 if numbers.dtype.kind == "f" else np.int64, copy=False)
    return _absorbed(_begun(len(values)), np.ascontiguousarray(wide).view(np.uint64))


def _of_texts(values: Any) -> Hashes:
    """Of texts or bytes: their lengths, then eight bytes at a time, the longest ones longest."""
    offsets, data = parts(values)
    starts, sizes = offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64)
    state = _absorbed(_begun(len(values)), sizes.astype(np.uint64))
    padded = np.concatenate([data, np.zeros(_WORD, np.uint8)])
    # A word may begin at any byte.
    words: Words = np.ndarray((len(padded) - _WORD + 1,), np.uint64, padded, strides=(1,))
    left = np.flatnonzero(sizes)
    at = 0
    while len(left):
        found = words[starts[left] + at]
        short = np.minimum(sizes[left] - at, _WORD).astype(np.uint64)
        found &= np.uint64(2**64 - 1) >> (np.uint64(64) - np.uint64(_WORD) * short)
        mixed = _absorbed(state.take(left), found)
        state.high[left], state.low[left] = mixed.high, mixed.low
        at += _WORD
        left = left[sizes[left] > at]
    return state


def _begun(rows: int) -> Hashes:
    return Hashes(np.full(rows, _SEEDS[2]), np.full(rows, _SEEDS[3]))


def _absorbed(state: Hashes, words: Words) -> Hashes:
    turned = (words << _TURN) | (words >> (np.uint64(64) - _TURN))
    return Hashes(_mixed(state.high ^ words), _mixed(state.low ^ (turned * _SEEDS[0])))


def _mixed(values: Words) -> Words:
    """The finaliser of MurmurHash3: every bit of the input may turn every bit of the result, and no two inputs meet."""
    for factor in _FACTORS:
        values = (values ^ (values >> _SHIFT)) * factor
    return values ^ (values >> _SHIFT)
