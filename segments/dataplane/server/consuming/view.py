"""The rows of a consuming segment at one moment, shaped as a held segment is for queries."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from segments.dataplane.query.arrow.totals import Totals
from segments.dataplane.realtime.mutable_segment import Snapshot


class View:
    """Immutable; queries that hold it see the same rows whatever happens to the segment. ``limit``: only the first rows
    count. ``totals``: what is kept of the segment between queries.
    """

    is_growing = True

    def __init__(self, name: str, snapshot: Snapshot, limit: int | None = None, totals: Totals | None = None) -> None:
        self.name = name
        self.totals = totals
        self._snapshot = snapshot
        self._limit = limit
        self.num_docs = snapshot.num_docs if limit is None else min(limit, snapshot.num_docs)

    def table_of(self, columns: Sequence[str]) -> pa.Table:
        """Those of the columns that the segment has, and which rows were null where it is requested and recorded."""
        found = self._snapshot.table_of(columns)
        return found if self._limit is None else found.slice(0, self.num_docs)
