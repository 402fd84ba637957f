"""What consumes where, as servers and records report: consumingSegmentsInfo and watermarks."""

from __future__ import annotations

from typing import Any

from segments.domain.realtime.realtime_repair import Known
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.realtime.realtime_state import observe_realtime


def consuming_segments_info(ctx: Context, table: TableName) -> dict[str, Any]:
    """Pinot's document: per consuming segment what every replica says; a segment without an answer has an empty list.
    NotFound.
    """
    return ctx.engine.consumption.consuming_segments_info(ctx, table)


def pauseless_debug_info(ctx: Context, table: TableName) -> dict[str, Any]:
    """``instanceToErrorSegmentsMap``: {server: its segments in ERROR}; ``committingSegments``: those whose commit has
    started and not ended. NotFound; StateConflict on a Pinot that has no pauseless consumption.
    """
    return ctx.engine.consumption.pauseless_debug_info(ctx, table)


def consumer_watermarks(ctx: Context, table: TableName) -> list[dict[str, Any]]:
    """Per partition the sequence and offset at which it goes on: behind what is committed, else the consuming segment's
    own.
    """
    state = observe_realtime(ctx, table)
    latest: dict[int, Known] = {}
    for known in state.known:
        if known.name.text in state.ideal.maps:
            latest[known.name.partition] = known
    return [_watermark(latest[p]) for p in sorted(latest)]


def _watermark(known: Known) -> dict[str, Any]:
    is_committed = known.is_committed and known.end is not None
    return {
        "partitionGroupId": known.name.partition,
        "sequenceNumber": known.name.sequence + 1 if is_committed else known.name.sequence,
        "offset": known.end if is_committed else known.start,
    }
