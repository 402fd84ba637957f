"""Which rows of a segment count: as flags, as Arrow's validity bits, and how many; each is made once and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Flags = NDArray[np.bool_]

#: Rows of a block, of which it is known when one of its flags changed last.
BLOCK_ROWS: Final = 128
#: Rows that are read at first when some are wanted.
_SHORTEST: Final = 1_024
#: Rows of a run, on average, from which on Arrow passes over bits faster than flags are multiplied.
_LONG_RUN: Final = 40
#: Share of rows that count up to which a copy of them costs less than passing over the others.
_FEW: Final = 0.75


@dataclass(frozen=True, eq=False)
class BlockChanges:
    """``last``: the number of the change that last touched each block of rows, of those that ``origin`` counts. Two
    masks of one origin have the same flags in whole blocks with the same number.
    """

    origin: object
    last: NDArray[np.int64]

    def are_as_in(self, other: BlockChanges, blocks: int) -> Flags:
        """Which of the first blocks, which both have, are the same in both."""
        if self.origin is not other.origin:
            return np.zeros(blocks, np.bool_)
        same: Flags = self.last[:blocks] == other.last[:blocks]
        return same


class RowMask:
    """``flags`` never change; ``changes`` distinguish them from those of an earlier or later mask, None: uncounted.
    Safe between threads: what is made twice is the same.
    """

    def __init__(self, flags: Flags, changes: BlockChanges | None = None) -> None:
        self.flags, self.changes = flags, changes

    def __len__(self) -> int:
        return len(self.flags)

    @cached_property
    def count(self) -> int:
        """Rows that count."""
        return int(np.count_nonzero(self.flags))

    @cached_property
    def begins(self) -> int:
        """The first row that counts; 0 when none does."""
        return int(self.flags.argmax()) if len(self) else 0

    @cached_property
    def lies_together(self) -> bool:
        """Do rows that count, and those that do not, mostly lie next to their like?"""
        changes = int(np.count_nonzero(self.flags[1:] != self.flags[:-1]))
        return changes * _LONG_RUN <= len(self)

    @property
    def ones(self) -> Any:
        """The same as an Arrow array of bytes, not copied: DuckDB compares those faster than it reads bits."""
        return pa.array(self.flags.view(np.uint8))

    def prefix_with(self, rows: int) -> int:
        """How many of the first rows have so many that count; all when there are no so many."""
        start, size = self.begins, max(2 * rows, _SHORTEST)
        while start < len(self):
            here = np.flatnonzero(self.flags[start : start + size])
            if len(here) >= rows:
                return start + int(here[rows - 1]) + 1 if rows else 0
            rows, start, size = rows - len(here), start + size, 2 * size
        return len(self)

    def first(self, rows: int) -> RowMask:
        """Of so many of the first rows."""
        return self.between(0, rows)

    def between(self, start: int, stop: int) -> RowMask:
        """Of these rows."""
        if start == 0 and stop >= len(self):
            return self
        return RowMask(self.flags[start:stop], None if start else self.changes)


class ManyMasks:
    """The flags of several segments end to end, and their bits for each chunk of a column."""

    def __init__(self, masks: Sequence[RowMask | None], sizes: Sequence[int]) -> None:
        flags = [np.ones(size, np.bool_) if m is None else m.flags for m, size in zip(masks, sizes, strict=True)]
        self.flags: Flags = flags[0] if len(flags) == 1 else np.concatenate([np.zeros(0, np.bool_), *flags])
        self.count = sum(size if m is None else m.count for m, size in zip(masks, sizes, strict=True))
        self.lies_together = all(m is None or m.lies_together for m in masks)
        self._bits: dict[tuple[int, int], Any] = {}

    @property
    def are_few(self) -> bool:
        """Does a copy of the rows that count cost less than passing over the others?"""
        return self.count < _FEW * len(self.flags)

    def nulled(self, column: Any) -> Any:
        """A column of numbers without nulls whose rows that do not count are null: its values are not copied."""
        chunks, start = [], 0
        for chunk in column.chunks:
            size, width = len(chunk), chunk.type.bit_width // 8
            values = chunk.buffers()[1].slice(chunk.offset * width, size * width)
            chunks.append(pa.Array.from_buffers(chunk.type, size, [self._of(start, size), values]))
            start += size
        return pa.chunked_array(chunks, column.type)

    def _of(self, start: int, size: int) -> Any:
        known = self._bits.get((start, size))
        if known is None:
            packed: Any = np.packbits(self.flags[start : start + size], bitorder="little")
            known = self._bits[start, size] = pa.py_buffer(packed)
        return known
