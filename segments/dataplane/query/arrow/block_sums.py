"""Sums of a segment's columns by blocks of rows, each kept as long as the same rows of its block count.

A mask changes with every row that replaces another one, nearly all of its blocks do not: a sum reads the flags of all
rows, and the values of the blocks that changed or came since.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from segments.dataplane.query.arrow.row_mask import Flags

#: Rows of a block; flags are kept as bits and compared 64 at a time.
_BLOCK: Final = 128
_WORD: Final = 64
#: Blocks that are worked on at once: they stay in the processor's cache.
_AT_ONCE: Final = 960
#: Share of the blocks from which on all are summed, which needs no copy of those that changed.
_MANY: Final = 0.3
#: Columns whose sums are kept.
_MOST: Final = 8

Numbers = NDArray[Any]
Sums = NDArray[np.float64]
Blocks = NDArray[np.int64]
Words = NDArray[np.uint64]


class BlockSums:
    """Of one segment, whose rows never change; more may come. Safe between threads: what is kept is true of the flags
    that are kept next to it.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[Words, Sums]] = {}

    def total(self, name: str, column: Any, flags: Flags) -> float | None:
        """The sum of the rows that count; None when the column's values are not plain numbers, which are left to Arrow.
        ``column``: the chunks of as many rows as ``flags`` has.
        """
        kind = column.type
        is_real = pa.types.is_float32(kind) or pa.types.is_float64(kind)
        if column.null_count or not (is_real or pa.types.is_integer(kind)):
            return None
        rows, known = _Rows([chunk.to_numpy() for chunk in column.chunks if len(chunk)]), self._known.get(name)
        sums, words = np.empty(len(flags) // _BLOCK), np.packbits(_marks(flags)).view(np.uint64)
        every = np.arange(len(sums))
        changed = every if known is None else _carried_over(sums, words, *known)
        if len(changed) > _MANY * len(every):
            sums[:] = _every_sum(rows, flags)
        elif len(changed):
            sums[changed] = _sums(rows, flags, changed)
        if name not in self._known and len(self._known) >= _MOST:
            self._known = {}
        self._known[name] = (words, sums)
        begun = len(sums) * _BLOCK
        return float(sums.sum() + rows.between(begun, len(flags))[flags[begun:]].sum(dtype=np.float64))


class _Rows:
    """A column in chunks. Blocks do not end where chunks do."""

    def __init__(self, chunks: Sequence[Numbers]) -> None:
        self.chunks = chunks
        self.ends = np.cumsum([0, *map(len, chunks)])
        self.first = -(-self.ends[:-1] // _BLOCK)
        self.stop = np.maximum(self.ends[1:] // _BLOCK, self.first)

    def between(self, start: int, stop: int) -> Numbers:
        """A copy of these rows."""
        low, high = int(np.searchsorted(self.ends, start, "right")) - 1, int(np.searchsorted(self.ends, stop))
        ends = self.ends[low:high].tolist()
        pieces = [self.chunks[low + i][max(start - end, 0) : stop - end] for i, end in enumerate(ends)]
        return np.concatenate(pieces) if pieces else np.zeros(0)

    def within(self, chunk: int) -> Numbers:
        """The whole blocks of a chunk, not copied."""
        first, stop = int(self.first[chunk]), int(self.stop[chunk])
        start = first * _BLOCK - int(self.ends[chunk])
        return self.chunks[chunk][start : start + (stop - first) * _BLOCK].reshape(-1, _BLOCK)

    def copy_of(self, blocks: Blocks) -> Numbers:
        """These blocks end to end."""
        found, is_parted = np.empty((len(blocks), _BLOCK), self.chunks[0].dtype), np.ones(len(blocks), np.bool_)
        lows, highs = np.searchsorted(blocks, self.first), np.searchsorted(blocks, self.stop)
        for at in np.flatnonzero(lows < highs).tolist():
            here = slice(lows[at], highs[at])
            self.within(at).take(blocks[here] - self.first[at], axis=0, out=found[here], mode="clip")
            is_parted[here] = False
        for place in np.flatnonzero(is_parted).tolist():
            start = int(blocks[place]) * _BLOCK
            found[place] = self.between(start, start + _BLOCK)
        return found


def _carried_over(sums: Sums, words: Words, old_words: Words, old: Sums) -> Blocks:
    """Which blocks are to be summed; the sums of the others are put in place."""
    both = min(len(sums), len(old))
    sums[:both] = old[:both]
    is_old = np.zeros(len(sums), np.bool_)
    is_old[:both] = True
    compared = both * _BLOCK // _WORD
    is_old[np.flatnonzero(words[:compared] != old_words[:compared]) * _WORD // _BLOCK] = False
    return np.flatnonzero(~is_old)


def _every_sum(rows: _Rows, flags: Flags) -> Sums:
    """Of all whole blocks; those within a chunk are read where they are."""
    marks = _marks(flags)
    found, is_done = np.empty(len(marks)), np.zeros(len(marks), np.bool_)
    for at in np.flatnonzero(rows.first < rows.stop).tolist():
        here = slice(rows.first[at], rows.stop[at])
        _weigh(rows.within(at), marks[here], found[here])
        is_done[here] = True
    is_done &= np.isfinite(found)
    rest = np.flatnonzero(~is_done)
    found[rest] = _sums(rows, flags, rest)
    return found


def _sums(rows: _Rows, flags: Flags, blocks: Blocks) -> Sums:
    """Of these blocks, which are copied."""
    values, marks, found = rows.copy_of(blocks), _marks(flags).take(blocks, axis=0), np.empty(len(blocks))
    _weigh(values, marks, found)
    odd = np.flatnonzero(~np.isfinite(found))
    found[odd] = np.where(marks[odd], values[odd], 0).sum(axis=1, dtype=np.float64)
    return found


def _marks(flags: Flags) -> Numbers:
    return flags[: len(flags) // _BLOCK * _BLOCK].reshape(-1, _BLOCK)


def _weigh(values: Numbers, marks: Numbers, out: Sums) -> None:
    """Each value times one where it counts and zero elsewhere, which is many times faster than passing over them. Not
    finite where a value is not.
    """
    weights = np.empty((min(_AT_ONCE, len(out)), _BLOCK))
    with np.errstate(invalid="ignore", over="ignore"):
        for at in range(0, len(out), _AT_ONCE):
            own, weighed = values[at : at + _AT_ONCE], weights[: len(out) - at]
            weighed[:] = marks[at : at + _AT_ONCE].view(np.uint8)
            np.vecdot(own.astype(np.float64, copy=False), weighed, out=out[at : at + _AT_ONCE])
