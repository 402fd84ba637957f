"""Row limit of a new consuming segment that no commit precedes: first segments, resume, repair (completion.md 10)."""

from __future__ import annotations

from typing import Final

from segments.domain.stream_config import DEFAULT_FLUSH_ROWS, StreamConfig
from segments.domain.table_config import TableConfig
from segments.services.context import Context

_LEAST: Final = 1


class FlushRows:
    """Limits for one table."""

    def __init__(self, ctx: Context, config: TableConfig) -> None:
        self._ctx, self._config = ctx, config

    def limit(self, stream: StreamConfig, partitions_per_server: int) -> int:
        """Rows after which the segment is committed: the table's rows shared by a server's partitions, or exactly the segment's."""
        flush = stream.flush
        if flush.rows is not None and flush.rows > 0:
            return max(_LEAST, flush.rows // partitions_per_server)
        if flush.segment_rows is not None and flush.segment_rows > 0:
            return flush.segment_rows
        if flush.rows == 0 or flush.segment_bytes is not None:
            return flush.initial_rows
        return max(_LEAST, DEFAULT_FLUSH_ROWS // partitions_per_server)
