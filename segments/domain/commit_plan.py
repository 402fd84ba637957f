"""What one commit writes: the committed segment's record, its ideal-state row, and the segment that follows (completion.md 9, 10)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from segments.domain import ideal_state, segment_metadata
from segments.domain.llc_name import LLCName
from segments.domain.znrecord import ZNRecord

START_OFFSET: Final = "segment.realtime.startOffset"
END_OFFSET: Final = "segment.realtime.endOffset"
STATUS: Final = "segment.realtime.status"
REPLICAS: Final = "segment.realtime.numReplicas"
FLUSH_ROWS: Final = "segment.flush.threshold.size"
PARTITION_METADATA: Final = "segment.partition.metadata"


def consuming_record(
    name: LLCName, *, start_offset: str, replicas: int, flush_rows: int, now_ms: int, partition_metadata: str | None = None
) -> ZNRecord:
    """The record of a segment that is about to consume (completion.md 2, IN_PROGRESS). ``start_offset`` is an offset's text, verbatim.

    ``partition_metadata`` is the JSON of ``domain.partition_metadata.stream_partition_metadata``.
    """
    simple = {
        STATUS: segment_metadata.IN_PROGRESS,
        "segment.creation.time": str(now_ms),
        START_OFFSET: start_offset,
        REPLICAS: str(replicas),
        FLUSH_ROWS: str(flush_rows),
        PARTITION_METADATA: partition_metadata,
    }
    return ZNRecord(name.text, {k: v for k, v in sorted(simple.items()) if v is not None})


def consuming_row(instances: Iterable[str]) -> dict[str, str]:
    """The ideal-state row of a segment that these instances are to consume."""
    return dict.fromkeys(sorted(instances), ideal_state.CONSUMING)
