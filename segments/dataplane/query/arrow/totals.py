"""Sums and extremes of whole segments whose rows never change, kept as long as the same rows count.

A lone ``sum(x)`` reads its column as fast as memory gives it, so that reading which rows count next to it would double
the time. Most segments of a table stay as they are between two queries, also of an upsert table: their part of the
answer is known already, and of the others most blocks of rows (``block_values``).
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, Final

from segments.dataplane.query.arrow.block_values import BlockValues
from segments.dataplane.query.arrow.row_mask import RowMask

#: Values kept of one segment.
_MOST: Final = 64
#: (aggregation, column); value, null when no row counts.
Key = tuple[str, str]
Value = float | None


class Totals:
    """Of the rows of one segment. Safe between threads: what is computed twice is the same.

    ``grows``: rows may come, so only what is kept by blocks under a mask is.
    """

    def __init__(self, *, grows: bool = False) -> None:
        self._grows = grows
        self._known: dict[Key, tuple[Any, Value]] = {}
        self.blocks = BlockValues()

    def are_kept(self, valid: RowMask | None) -> bool:
        """Is there anything to keep of a query over these rows?"""
        return not self._grows or valid is not None

    def get(self, wanted: Sequence[Key], valid: RowMask | None) -> dict[Key, Value]:
        """Those that are known of the rows that count now."""
        if self._grows:
            return {}
        found = {key: self._known.get(key) for key in wanted}
        return {key: kept[1] for key, kept in found.items() if kept is not None and _is_of(kept, valid)}

    def put(self, values: dict[Key, Value], valid: RowMask | None) -> None:
        """Keep them; the mask itself is not kept alive by that."""
        if self._grows:
            return
        if len(self._known) + len(values) > _MOST:
            self._known.clear()
        mark = None if valid is None else weakref.ref(valid)
        self._known.update({key: (mark, value) for key, value in values.items()})


def _is_of(kept: tuple[Any, Value] | None, valid: RowMask | None) -> bool:
    if kept is None:
        return False
    mark = kept[0]
    return valid is None if mark is None else valid is not None and mark() is valid
