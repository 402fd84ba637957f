"""What the segment behind one that is committed skips, where its table wants that: asked for once, and measured once it
is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from segments.clusters.embedded.realtime.completion.completion_state import Observed
from segments.domain.realtime.llc_name import LLCName
from segments.domain.realtime.streams.offset_auto_reset import auto_reset_of
from segments.domain.realtime.streams.stream_config import stream_configs
from segments.domain.realtime.streams.stream_offset import parse_offset
from segments.domain.realtime.streams.unread_range import UnreadRange
from segments.domain.segments.segment_metadata import IN_PROGRESS
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.realtime.offset_auto_reset import note_skip, skip_to_newest
from segments.services.realtime.stream_facts import stream_facts
from segments.store import paths
from segments.store.base import Write


class SkippedRows:
    """Of the segment behind ``name``. A commit is tried again when somebody got in between; the stream is asked the
    first time.
    """

    def __init__(self, ctx: Context, table: TableName, name: LLCName) -> None:
        self._ctx, self._table, self._name = ctx, table, name
        self._skip: UnreadRange | None = None
        self._is_known = self._is_written = False

    def behind(self, seen: Observed, start: str) -> UnreadRange | None:
        """What the next segment, which would begin at ``start``, skips; None: nothing."""
        if auto_reset_of(seen.stream.raw) is None:
            return None
        if not self._is_known and seen.metadata.status == IN_PROGRESS:
            self._is_known = True
            with stream_facts(self._ctx, stream_configs(seen.config)) as facts:
                self._skip = skip_to_newest(facts, self._name.partition, parse_offset(seen.stream.type, start))
        return self._skip

    def planned(self, writes: Sequence[Write]) -> None:
        """The writes of the attempt that is made now: they have a range to skip, or no segment follows."""
        self._is_written = any(write.path == paths.data_loss(self._table.typed) for write in writes)

    def done(self) -> None:
        """Those writes were made."""
        if self._skip is not None and self._is_written:
            note_skip(self._ctx, self._table, self._name.text, self._skip)
