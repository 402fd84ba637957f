"""The rows of a consuming segment at one moment, shaped as a held segment is for queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from segments.dataplane.query.arrow.totals import Totals
from segments.dataplane.query.nulls import null_of
from segments.dataplane.realtime.mutable_segment import Snapshot
from segments.segmentfile.columns.transform import uses_null_vector


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
        found: Any = self._snapshot.table_of(columns)
        for name in columns:
            nulls = self._nulls(null_of(name))
            if nulls is not None:
                found = found.append_column(name, nulls)
        cut: pa.Table = found if self._limit is None else found.slice(0, self.num_docs)
        return cut

    def _nulls(self, column: str | None) -> Any:
        """None when the table does not record nulls, or the column never had one."""
        known = self._snapshot
        if (
            column is None
            or column not in known.columns
            or not uses_null_vector(known.schema.by_name[column], known.schema, known.config)
        ):
            return None
        if not any(column in piece.masks for piece in known.pieces):
            return None
        return pa.chunked_array([pa.array(p.masks.get(column, np.zeros(p.rows.num_rows, bool))) for p in known.pieces])
