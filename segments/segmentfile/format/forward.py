"""Dictionary-encoded forward indexes, the inverted index and the null vector as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from segments.segmentfile.format.bits import Ids, pack
from segments.segmentfile.format.buffers import Offsets

#: Values that one chunk of a multi-value index aims at.
_CHUNK_VALUES = 2048


def is_non_decreasing(ids: NDArray[Any]) -> bool:
    """Every value is at least the one before."""
    return bool((ids[1:] >= ids[:-1]).all())


def sorted_pairs(ids: Ids, cardinality: int) -> bytes:
    """First and last row of each id, two int32 each."""
    bounds = np.searchsorted(ids, np.arange(cardinality + 1, dtype=np.uint32))
    pairs = np.empty((cardinality, 2), ">i4")
    pairs[:, 0], pairs[:, 1] = bounds[:-1], bounds[1:] - 1
    return pairs.tobytes()


def docs_per_chunk(docs: int, values: int) -> int:
    """Rows of one chunk of a multi-value index: ceil(2048 / floor(values/docs))."""
    return -(-_CHUNK_VALUES // (values // docs))


def multi_values(ids: Ids, offsets: Offsets, bits: int) -> bytes:
    """Rows of ids -> chunk offsets, bitmap of row starts, packed ids. Every row has at least one value."""
    docs, values = len(offsets) - 1, len(ids)
    chunks = offsets[:-1][:: docs_per_chunk(docs, values)].astype(">i4").tobytes()
    starts = np.zeros(values, bool)
    starts[offsets[:-1]] = True
    return chunks + np.packbits(starts).tobytes() + pack(ids, bits)


def inverted(ids: Ids, cardinality: int, docs: NDArray[Any] | None = None) -> bytes:
    """Offsets, then one bitmap of rows per id. ``docs`` gives each value's row (multi-value), else rows count up."""
    order = np.argsort(ids, kind="stable")
    rows = order if docs is None else docs[order]
    bounds = np.searchsorted(ids[order], np.arange(cardinality + 1, dtype=np.uint32))
    bitmaps = [roaring(rows[bounds[i] : bounds[i + 1]]) for i in range(cardinality)]
    starts = np.cumsum([4 * (cardinality + 1), *map(len, bitmaps)]).astype(">u4")
    return starts.tobytes() + b"".join(bitmaps)


def roaring(rows: NDArray[Any]) -> bytes:
    """Row numbers as one RoaringBitmap in portable form, run-optimised."""
    bitmap = BitMap(np.ascontiguousarray(rows, np.uint32))
    bitmap.run_optimize()
    return bytes(bitmap.serialize())
