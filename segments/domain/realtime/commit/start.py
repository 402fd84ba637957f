"""The start of a commit: the segment's end is fixed, its row says ONLINE, and the next segment consumes.

A pauseless commit writes this as one transaction of its own (rule `one-transaction`); a standard one together with its
end. Afterwards the partition has exactly one latest segment, and that one starts at the committed end (behind it where
the table skips what is too old), or none is consuming because the partition is paused, with nothing read behind that
end, or has ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime import flush_threshold
from segments.domain.realtime.commit.fields import (
    END_OFFSET,
    FLUSH_ROWS,
    PARTITION_METADATA,
    REPLICAS,
    START_OFFSET,
    STATUS,
)
from segments.domain.realtime.flush_threshold import Committed
from segments.domain.realtime.llc_name import LLCName
from segments.domain.realtime.pause import pause_of, stream_partition
from segments.domain.realtime.realtime_assignment import consuming_row_of
from segments.domain.realtime.streams.stream_config import FlushThresholds
from segments.domain.realtime.streams.unread_range import UnreadRange
from segments.domain.segments import ideal_state, segment_metadata
from segments.domain.segments.ideal_state import CONSUMING, ONLINE
from segments.domain.segments.segment_metadata import COMMITTING, IN_PROGRESS, SegmentMetadata
from segments.errors import StateConflict

_MINUTE_MS: Final = 60_000


@dataclass(frozen=True)
class RealtimeTable:
    """What a successor needs to know of its table. ``instances``: the tenant's servers in the table's order.

    ``taken``: names that records hold already although no row does; ``chance`` in [0, 1) spreads tuned row limits;
    ``stays``: new segments go where the partition's last one is; ``last_sized``: the partition's last committed
    segment, for a start that does not know its own segment's size yet.
    """

    typed: str
    replicas: int
    topics: int
    flush: FlushThresholds
    instances: Sequence[str]
    taken: frozenset[str] = frozenset()
    chance: float = 0.5
    last_sized: Committed | None = None
    stays: bool = False


@dataclass(frozen=True)
class CommitStart:
    """The start of one commit. ``end_offset`` is exclusive, text as the committer gave it; ``rows`` were consumed.

    ``reason``: why the segment ended; ``is_last``: the partition has ended; ``has_rows_behind``: a replica has read on
    behind the end. ``skips``: rows from that end on that the next segment leaves out, because the partition is too far
    behind for its table.
    """

    name: LLCName
    end_offset: str
    rows: int = 0
    reason: str | None = None
    is_last: bool = False
    has_rows_behind: bool = False
    skips: UnreadRange | None = None


@dataclass(frozen=True)
class CommitPlan:
    """The values to write together: the segment's record, the ideal state, and the record of the segment that follows
    (None when nothing is to consume after this one).
    """

    record: ZNRecord
    ideal: ZNRecord
    successor: ZNRecord | None


def consuming_record(
    name: LLCName,
    *,
    start_offset: str,
    replicas: int,
    flush_rows: int,
    now_ms: int,
    partition_metadata: str | None = None,
    custom: Mapping[str, str] | None = None,
) -> ZNRecord:
    """The record of a segment that is about to consume. ``start_offset`` is an offset's text, verbatim.

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
    maps = {"custom.map": dict(custom)} if custom else {}
    return ZNRecord(name.text, {k: v for k, v in sorted(simple.items()) if v is not None}, maps)


def consuming_row(instances: Iterable[str]) -> dict[str, str]:
    """The ideal-state row of a segment that these instances are to consume."""
    return dict.fromkeys(sorted(instances), CONSUMING)


def start_commit(
    start: CommitStart, table: RealtimeTable, old: SegmentMetadata, ideal: ZNRecord, now_ms: int
) -> CommitPlan:
    """The writes of a commit's start: COMMITTING with its end, ONLINE, and the segment that follows.

    One that was started but got no further (COMMITTING at this very end, its row still CONSUMING) is continued. Raises
    StateConflict when the segment is not consuming any more, or its successor exists under another name.
    """
    row = checked_row(start.name, old, ideal, started_at=start.end_offset)
    before = flush_threshold.committed_of(old)
    reason = {flush_threshold.REASON_KEY: start.reason} if start.reason else {}
    record = old.edited({STATUS: COMMITTING, END_OFFSET: start.end_offset}, {**old.custom, **reason}).to_record()
    last = table.last_sized or Committed(start.rows, 0, before.limit, before.ratio)
    successor, changed = follow(start, table, old, ideal, row, last, now_ms)
    return CommitPlan(record, changed, successor)


def follow(
    start: CommitStart,
    table: RealtimeTable,
    old: SegmentMetadata,
    ideal: ZNRecord,
    row: Mapping[str, str],
    last: Committed,
    now_ms: int,
) -> tuple[ZNRecord | None, ZNRecord]:
    """(the segment that follows, the ideal state with both): none follows where the partition is paused or has ended.

    Rows that were read on behind the end were seen by queries: a pause commits them, too, so a segment follows for
    them, and its servers commit it at once.

    ``row``: the segment's replicas; ``last`` teaches the row limit of the next one.
    """
    rows = {start.name.text: dict.fromkeys(row, ONLINE)}
    successor = None
    is_stopped = pause_of(ideal).stops(start.name.partition, table.topics) and not start.has_rows_behind
    if not start.is_last and not is_stopped:
        limit = flush_threshold.next_row_limit(table.flush, busiest_server(ideal), last, table.chance)
        successor = consuming_record(
            next_name(start.name, table.taken, now_ms),
            start_offset=start.end_offset if start.skips is None else start.skips.end,
            replicas=table.replicas,
            flush_rows=limit,
            now_ms=now_ms,
            partition_metadata=old.fields.get(PARTITION_METADATA),
            custom=flush_threshold.ratio_items(last) if flush_threshold.is_tuned(table.flush) else {},
        )
        rows[successor.id] = _assigned(start.name, table, row)
    return successor, ideal_state.with_rows(ideal, rows)


def next_name(name: LLCName, taken: Iterable[str], now_ms: int) -> LLCName:
    """The name after ``name``; names have minutes, and one that a record still holds is passed over."""
    used, created = set(taken), now_ms
    while (found := name.next(created)).text in used:
        created += _MINUTE_MS
    return found


def busiest_server(ideal: ZNRecord) -> int:
    """The most partitions of the table that one server consumes; at least 1."""
    counted = Counter(i for row in ideal.maps.values() for i, state in row.items() if state == CONSUMING)
    return max(counted.values(), default=1)


def checked_row(
    name: LLCName, old: SegmentMetadata, ideal: ZNRecord, *, started_at: str | None = None
) -> Mapping[str, str]:
    """The segment's row, if its commit may start; ``started_at``: or may go on, from a start at this end.

    Raises StateConflict.
    """
    row = ideal.maps.get(name.text)
    is_started = started_at is not None and old.status == COMMITTING and old.fields.get(END_OFFSET) == started_at
    if old.status != IN_PROGRESS and not is_started:
        raise StateConflict(
            f"Segment '{name}' is {old.status}, not {IN_PROGRESS}.", remedy="It was committed or repaired meanwhile."
        )
    if row is None or CONSUMING not in row.values():
        raise StateConflict(
            f"No replica of segment '{name}' is to consume it.", remedy="It was taken out of the ideal state meanwhile."
        )
    prefix = f"{name.raw}__{name.partition}__{name.sequence + 1}__"
    twin = next((s for s in ideal.maps if s.startswith(prefix)), None)
    if twin is not None:
        raise StateConflict(
            f"The segment after '{name}' is a duplicate of existing segment '{twin}'.", remedy="Repair the partition."
        )
    return row


def _assigned(name: LLCName, table: RealtimeTable, row: Mapping[str, str]) -> dict[str, str]:
    """Pinot's rule over the tenant's servers; where they are too few now, those that consumed the segment go on."""
    if table.stays:
        return consuming_row(row)
    try:
        own = stream_partition(name.partition, table.topics)
        return consuming_row_of(table.typed, own, table.replicas, table.instances)
    except StateConflict:
        return consuming_row(row)
