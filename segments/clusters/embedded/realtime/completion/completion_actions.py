"""What a step of the completion protocol asks for beyond the machine itself, as the writes of the same transaction."""

from __future__ import annotations

from segments.clusters.embedded.realtime.completion.commit_end import end_writes
from segments.clusters.embedded.realtime.completion.commit_start import read_ideal, successor_writes, table_of_successor
from segments.clusters.embedded.realtime.completion.completion_state import Observed, end_write, removal
from segments.domain.realtime import flush_threshold
from segments.domain.realtime.commit.end import Built, check_built
from segments.domain.realtime.commit.fields import FLUSH_ROWS
from segments.domain.realtime.commit.plan import Commit, plan_commit
from segments.domain.realtime.flush_threshold import lowered_limit
from segments.domain.realtime.llc_name import LLCName
from segments.domain.segments import segment_metadata
from segments.domain.segments.ideal_state import CONSUMING, OFFLINE, with_rows
from segments.domain.segments.segment_metadata import COMMITTING, IN_PROGRESS
from segments.errors import InvalidInput, StateConflict
from segments.names import TableName
from segments.segmentfile.format.crc import NO_CRC
from segments.segmentfile.format.info import SegmentInfo
from segments.services.core.context import Context
from segments.services.segments.segment_reset import send_resets
from segments.store import paths
from segments.store.base import Replace, Write


def built_of(name: LLCName, end_offset: str, info: SegmentInfo, size_bytes: int) -> Built:
    """What the committer's two small files say, checked against the segment that is committed (rule `winner-only`).
    Raises InvalidInput.
    """
    if info.crc == NO_CRC:
        raise InvalidInput(
            f"Segment '{name}' has no CRC: creation.meta is missing or cut.", remedy="Build the segment again."
        )
    check_built(name, info.name, info.table, end_offset, info.realtime_end_offset)
    return Built(
        crc=info.crc,
        total_docs=info.total_docs,
        index_version=info.index_version,
        size_bytes=size_bytes,
        data_crc=info.data_crc,
        start_ms=info.start_time_ms,
        end_ms=info.end_time_ms,
        custom=info.custom,
        partitions=info.partitions,
    )


def commit_writes(ctx: Context, seen: Observed, commit: Commit, *, is_repeated: bool) -> list[Write]:
    """The commit's end with the machine's: of one that has started the record alone, else both records and the ideal
    state. ``is_repeated``: an earlier attempt met a conflict.

    Raises StateConflict when the segment is not consuming any more, or its successor exists already.
    """
    segment, now_ms = seen.segment, ctx.clock()
    assert segment is not None  # ``seen.metadata`` was asked before
    if seen.metadata.status == COMMITTING:
        is_tuned = flush_threshold.is_tuned(seen.stream.flush)
        return end_writes(
            ctx,
            seen.table,
            segment,
            commit.built,
            commit.url,
            rows=commit.start.rows,
            reason=commit.start.reason,
            is_tuned=is_tuned,
        )
    ideal, record = read_ideal(ctx, seen)
    table = table_of_successor(ctx, seen, is_repeated=is_repeated)
    plan = plan_commit(commit, table, seen.metadata, record, now_ms)
    return [
        Replace(paths.segment(seen.table.typed, seen.name.text), plan.record, segment.version),
        *successor_writes(ctx, seen, commit.start, plan.successor),
        Replace(paths.ideal_state(seen.table.typed), plan.ideal, ideal.version),
        *removal(seen),
    ]


def stop_writes(ctx: Context, seen: Observed, instance: str) -> list[Write]:
    """The replica's CONSUMING becomes OFFLINE; nothing when it is not CONSUMING."""
    ideal = ctx.store.get(paths.ideal_state(seen.table.typed))
    row = ideal.record.maps.get(seen.name.text, {}) if ideal and ideal.record else {}
    if ideal is None or ideal.record is None or row.get(instance) != CONSUMING:
        return []
    changed = with_rows(ideal.record, {seen.name.text: {**row, instance: OFFLINE}})
    return [Replace(paths.ideal_state(seen.table.typed), changed, ideal.version)]


def lower_limit_writes(seen: Observed, rows: int) -> list[Write]:
    """A smaller row limit on record, and the round's end. StateConflict unless the segment is consuming."""
    metadata, segment = seen.metadata, seen.segment
    assert segment is not None
    if metadata.status != IN_PROGRESS:
        raise StateConflict(f"Segment '{seen.name}' is {metadata.status}, not {IN_PROGRESS}.")
    text = metadata.fields.get(FLUSH_ROWS, "")
    limit = lowered_limit(rows, int(text) if text.isdigit() else 0)
    if str(limit) == text:
        return []
    record = metadata.edited({FLUSH_ROWS: limit}).to_record()
    return [Replace(paths.segment(seen.table.typed, seen.name.text), record, segment.version), *end_write(seen)]


def restart_replicas(ctx: Context, table: TableName, segment: str) -> None:
    """Replicas that consume the segment begin it again, with the row limit that is on record now."""
    ideal, view = ctx.store.get_many([paths.ideal_state(table.typed), paths.external_view(table.typed)])
    row = ideal.record.maps.get(segment, {}) if ideal and ideal.record else {}
    wanted = {i: [segment] for i, state in row.items() if state == CONSUMING}
    send_resets(ctx, table, wanted, view.record.maps if view and view.record else {})


def is_same_content(seen: Observed, info: SegmentInfo) -> bool:
    """Does the record of the committed segment name these files?"""
    metadata = seen.metadata
    return metadata.status == segment_metadata.DONE and (metadata.crc, metadata.total_docs) == (
        info.crc,
        info.total_docs,
    )
