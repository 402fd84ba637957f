"""A segment that this server has on disk and answers queries from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from segments.dataplane.query.arrow.totals import Totals
from segments.dataplane.query.nulls import null_of
from segments.dataplane.server.held.column_cache import ColumnCache
from segments.segmentfile import SegmentInfo, SegmentReader


class HeldSegment:
    """One loaded segment; columns are decoded once and kept in the server's cache. Safe to read from several threads.

    ``crc`` is the one on record in ZooKeeper and checked against the bytes. Whoever still reads it when it is replaced
    or dropped reads on: the mapped files live as long as somebody refers to them.
    """

    is_growing = False

    def __init__(self, name: str, folder: Path, crc: int, cache: ColumnCache) -> None:
        self.name, self.folder, self.crc = name, folder, crc
        self._reader = SegmentReader(folder)
        self._cache = cache
        self.totals = Totals()
        self.disk_bytes = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())

    @property
    def info(self) -> SegmentInfo:
        """What the segment says about itself."""
        return self._reader.info

    @property
    def num_docs(self) -> int:
        """Rows."""
        return self._reader.num_docs

    def column(self, name: str) -> Any:
        """A decoded column (Arrow)."""
        return self._cache.get(self, name, lambda: self._reader.column(name))

    def table_of(self, columns: Sequence[str]) -> pa.Table:
        """Those of the columns that this segment has (an older one may lack some), in the order given."""
        known = self._reader.info.columns
        found = {name: self.column(name) for name in columns if name in known}
        for name in columns:
            column = null_of(name)
            nulls = self._nulls(column) if column in known else None
            if nulls is not None:
                found[name] = nulls
        return pa.table(found)

    def _nulls(self, column: str | None) -> Any:
        """Which rows were null, None when the segment records none for the column."""
        mask = self._reader.null_mask(column) if column is not None else None
        return None if mask is None else pa.array(mask)

    def release(self) -> None:
        """Give the cached columns back; the segment answers no new query."""
        self._cache.forget(self)
