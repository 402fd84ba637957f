"""Sums and extremes of a segment's columns by blocks of rows, each kept as long as the same rows of its block count.

A mask changes with every row that replaces another one, nearly all of its blocks do not: what is asked for again reads
the flags and values of the blocks that changed or came since, and of those only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from segments.dataplane.query.arrow.row_mask import BLOCK_ROWS, BlockChanges, Flags, RowMask

#: Blocks that are worked on at once: they stay in the processor's cache.
_AT_ONCE: Final = 960
#: Share of the blocks from which on all are computed, which needs no copy of those that changed.
_MANY: Final = 0.3
#: Aggregations of columns that are kept.
_MOST: Final = 16

Numbers = NDArray[Any]
Reals = NDArray[np.float64]
Blocks = NDArray[np.int64]
#: Writes one number for each block: (values, flags, where to).
Compute = Callable[[Numbers, Numbers, Reals], None]


class BlockValues:
    """Of one segment, whose rows never change; more may come. Safe between threads: what is kept is true of the changes
    that are kept next to it.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[BlockChanges, Reals]] = {}

    def whole(self, function: str, name: str, column: Any, mask: RowMask) -> float | None:
        """sum, min or max of the rows that count. None is left to Arrow: values that are not plain numbers, and an
        extreme that is not finite. ``column``: the chunks of as many rows as ``mask`` has.
        """
        kind = column.type
        is_real = pa.types.is_float32(kind) or pa.types.is_float64(kind)
        if column.null_count or not (is_real or pa.types.is_integer(kind)):
            return None
        rows = _Rows([chunk.to_numpy() for chunk in column.chunks if len(chunk)])
        blocks = self._of_blocks((function, name), rows, mask)
        rest = rows.between(len(blocks) * BLOCK_ROWS, len(mask))[mask.flags[len(blocks) * BLOCK_ROWS :]]
        if function == "sum":
            return float(blocks.sum() + rest.sum(dtype=np.float64))
        best = _best(function, np.append(blocks, rest.astype(np.float64, copy=False)))
        return best if np.isfinite(best) else None

    def _of_blocks(self, key: tuple[str, str], rows: _Rows, mask: RowMask) -> Reals:
        compute, known = _COMPUTE[key[0]], self._known.get(key)
        found = np.empty(len(mask) // BLOCK_ROWS)
        changed = _carried_over(found, mask.changes, known)
        if len(changed) > _MANY * len(found):
            _compute_every(compute, rows, mask.flags, found)
        elif len(changed):
            found[changed] = _compute_some(compute, rows, mask.flags, changed)
        if mask.changes is not None:
            if known is None and len(self._known) >= _MOST:
                self._known = {}
            self._known[key] = (mask.changes, found)
        return found


class _Rows:
    """A column in chunks. Blocks do not end where chunks do."""

    def __init__(self, chunks: Sequence[Numbers]) -> None:
        self.chunks = chunks
        self.ends = np.cumsum([0, *map(len, chunks)])
        self.first = -(-self.ends[:-1] // BLOCK_ROWS)
        self.stop = np.maximum(self.ends[1:] // BLOCK_ROWS, self.first)

    def between(self, start: int, stop: int) -> Numbers:
        """A copy of these rows."""
        low, high = int(np.searchsorted(self.ends, start, "right")) - 1, int(np.searchsorted(self.ends, stop))
        ends = self.ends[low:high].tolist()
        pieces = [self.chunks[low + i][max(start - end, 0) : stop - end] for i, end in enumerate(ends)]
        return np.concatenate(pieces) if pieces else np.zeros(0)

    def within(self, chunk: int) -> Numbers:
        """The whole blocks of a chunk, not copied."""
        first, stop = int(self.first[chunk]), int(self.stop[chunk])
        start = first * BLOCK_ROWS - int(self.ends[chunk])
        return self.chunks[chunk][start : start + (stop - first) * BLOCK_ROWS].reshape(-1, BLOCK_ROWS)

    def copy_of(self, blocks: Blocks) -> Numbers:
        """These blocks end to end."""
        found, is_parted = np.empty((len(blocks), BLOCK_ROWS), self.chunks[0].dtype), np.ones(len(blocks), np.bool_)
        lows, highs = np.searchsorted(blocks, self.first), np.searchsorted(blocks, self.stop)
        for at in np.flatnonzero(lows < highs).tolist():
            here = slice(lows[at], highs[at])
            self.within(at).take(blocks[here] - self.first[at], axis=0, out=found[here], mode="clip")
            is_parted[here] = False
        for place in np.flatnonzero(is_parted).tolist():
            start = int(blocks[place]) * BLOCK_ROWS
            found[place] = self.between(start, start + BLOCK_ROWS)
        return found


def _carried_over(found: Reals, changes: BlockChanges | None, known: tuple[BlockChanges, Reals] | None) -> Blocks:
    """Which blocks are to be computed; what is known of the others is put in place."""
    if changes is None or known is None:
        return np.arange(len(found))
    before, old = known
    both = min(len(found), len(old))
    found[:both] = old[:both]
    is_old = np.zeros(len(found), np.bool_)
    is_old[:both] = changes.are_as_in(before, both)
    return np.flatnonzero(~is_old)


def _compute_every(compute: Compute, rows: _Rows, flags: Flags, found: Reals) -> None:
    """Of all whole blocks; those within a chunk are read where they are."""
    marks, is_done = _marks(flags), np.zeros(len(found), np.bool_)
    for at in np.flatnonzero(rows.first < rows.stop).tolist():
        here = slice(rows.first[at], rows.stop[at])
        compute(rows.within(at), marks[here], found[here])
        is_done[here] = True
    rest = np.flatnonzero(~is_done)
    found[rest] = _compute_some(compute, rows, flags, rest)


def _compute_some(compute: Compute, rows: _Rows, flags: Flags, blocks: Blocks) -> Reals:
    """Of these blocks, which are copied."""
    found = np.empty(len(blocks))
    compute(rows.copy_of(blocks), _marks(flags).take(blocks, axis=0), found)
    return found


def _marks(flags: Flags) -> Numbers:
    return flags[: len(flags) // BLOCK_ROWS * BLOCK_ROWS].reshape(-1, BLOCK_ROWS)


def _sums(values: Numbers, marks: Numbers, out: Reals) -> None:
    """Each value times one where it counts and zero elsewhere, which is many times faster than passing over them; where
    a value is not finite, its block is summed once more without the others.
    """
    weights = np.empty((min(_AT_ONCE, len(out)), BLOCK_ROWS))
    with np.errstate(invalid="ignore", over="ignore"):
        for at in range(0, len(out), _AT_ONCE):
            own, weighed = values[at : at + _AT_ONCE], weights[: len(out) - at]
            weighed[:] = marks[at : at + _AT_ONCE].view(np.uint8)
            np.vecdot(own.astype(np.float64, copy=False), weighed, out=out[at : at + _AT_ONCE])
    odd = np.flatnonzero(~np.isfinite(out))
    out[odd] = np.where(marks[odd], values[odd], 0).sum(axis=1, dtype=np.float64)


def _least(values: Numbers, marks: Numbers, out: Reals) -> None:
    _extremes("min", values, marks, out)


def _greatest(values: Numbers, marks: Numbers, out: Reals) -> None:
    _extremes("max", values, marks, out)


def _extremes(function: str, values: Numbers, marks: Numbers, out: Reals) -> None:
    """The bits of values that do not count are replaced by those of the worst: that does not depend on guesses of the
    processor.
    """
    reduce, worst = _REDUCE[function]
    bits = np.array([worst]).view(np.int64)[0]
    size = (min(_AT_ONCE, len(out)), BLOCK_ROWS)
    picks, chosen = np.empty(size, np.int64), np.empty(size, np.int64)
    for at in range(0, len(out), _AT_ONCE):
        own = values[at : at + _AT_ONCE].astype(np.float64, copy=False).view(np.int64)
        pick, found = picks[: len(own)], chosen[: len(own)]
        np.negative(marks[at : at + _AT_ONCE].view(np.int8), out=pick, dtype=np.int64)
        np.bitwise_and(np.bitwise_xor(own, bits, out=found), pick, out=found)
        np.bitwise_xor(found, bits, out=found)
        reduce(found.view(np.float64), axis=1, out=out[at : at + _AT_ONCE])


def _best(function: str, values: Reals) -> float:
    reduce, worst = _REDUCE[function]
    return float(reduce(values, initial=worst))


_COMPUTE: Final[dict[str, Compute]] = {"sum": _sums, "min": _least, "max": _greatest}
#: What passes over NaN, and what every number is better than.
_REDUCE: Final[dict[str, tuple[Any, float]]] = {
    "min": (np.fmin.reduce, float("inf")),
    "max": (np.fmax.reduce, float("-inf")),
}
