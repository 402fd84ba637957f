"""The rows of one segment as its partition's keys know them: where they stand in the stream, and which are visible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from segments.dataplane.query.arrow.row_mask import BLOCK_ROWS, BlockChanges, RowMask

Mask = NDArray[np.bool_]
#: Reads columns of the rows that are there now.
ReadColumns = Callable[[Sequence[str]], pa.Table]

_FIRST: Final = 1 << 12


class Holder:
    """``number`` is its own in the partition; ``order``: rows of a segment with a higher one are later in the stream.
    ``rows``: those whose keys were taken in.
    """

    def __init__(self, number: int, name: str, order: int, read: ReadColumns) -> None:
        self.number, self.name, self.order, self.read = number, name, order, read
        self.rows = 0
        self._visible = np.zeros(0, np.bool_)
        self._taken: RowMask | None = None
        self._origin = object()
        self._change, self._last_changes = 0, np.zeros(0, np.int64)

    def grow(self, rows: int) -> None:
        """There are so many rows now; none of the new ones is visible yet."""
        if rows > len(self._visible):
            wider = np.zeros(max(rows, 2 * len(self._visible), _FIRST), np.bool_)
            wider[: self.rows] = self._visible[: self.rows]
            self._visible = wider
            last = np.zeros(-(-len(wider) // BLOCK_ROWS), np.int64)
            last[: len(self._last_changes)] = self._last_changes
            self._last_changes = last
        self.rows, self._taken = rows, None

    def cut(self, rows: int) -> None:
        """Rows from this one on count no more."""
        self._visible[rows : self.rows] = False
        self._changed(slice(rows // BLOCK_ROWS, None))
        self.rows = min(rows, self.rows)

    def show(self, docs: NDArray[np.int64], visible: Mask) -> None:
        """Say of rows whether queries see them."""
        self._visible[docs] = visible
        self._changed(docs // BLOCK_ROWS)

    def hide(self, docs: NDArray[np.int32]) -> None:
        """Queries see these rows no more."""
        self._visible[docs] = False
        self._changed(docs // BLOCK_ROWS)

    def _changed(self, blocks: NDArray[np.integer[Any]] | slice) -> None:
        self._change, self._taken = self._change + 1, None
        self._last_changes[blocks] = self._change

    def is_visible(self, docs: NDArray[np.int32]) -> Mask:
        """Which of these rows queries see."""
        return self._visible[docs]

    def hidden(self) -> NDArray[np.int64]:
        """The rows that queries do not see."""
        return np.flatnonzero(~self._visible[: self.rows])

    def mask(self) -> RowMask:
        """Which rows queries see; it never changes, and is the same until they do."""
        if self._taken is None:
            changes = BlockChanges(self._origin, self._last_changes.copy())
            self._taken = RowMask(self._visible[: self.rows].copy(), changes)
        return self._taken

    @property
    def is_whole(self) -> bool:
        """Do queries see every row?"""
        return self.mask().count == self.rows

    @property
    def nbytes(self) -> int:
        """Memory of the masks, and of what is known of their changes."""
        own = self._visible.nbytes + self._last_changes.nbytes
        return own + (0 if self._taken is None else self._taken.flags.nbytes + self._last_changes.nbytes)
