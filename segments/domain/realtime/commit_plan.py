"""What one commit writes: the committed segment's record, its ideal-state row, and the segment that follows.

Invariant: all of it is one transaction (rule `one-transaction`); afterwards the partition has exactly one latest
segment, and that one starts at the committed end, or none is consuming because the partition is paused or has ended.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime import flush_threshold
from segments.domain.realtime.flush_threshold import Committed
from segments.domain.realtime.llc_name import LLCName
from segments.domain.realtime.pause import pause_of, stream_partition
from segments.domain.realtime.realtime_assignment import consuming_row_of
from segments.domain.realtime.streams.stream_config import FlushThresholds
from segments.domain.segments import ideal_state, segment_metadata
from segments.domain.segments.ideal_state import CONSUMING, ONLINE
from segments.domain.segments.segment_metadata import IN_PROGRESS, SegmentMetadata
from segments.errors import InvalidInput, StateConflict

START_OFFSET: Final = "segment.realtime.startOffset"
END_OFFSET: Final = "segment.realtime.endOffset"
STATUS: Final = "segment.realtime.status"
REPLICAS: Final = "segment.realtime.numReplicas"
FLUSH_ROWS: Final = "segment.flush.threshold.size"
PARTITION_METADATA: Final = "segment.partition.metadata"
_MINUTE_MS: Final = 60_000


@dataclass(frozen=True)
class Built:
    """The committer's segment as it says of itself. ``size_bytes``: its folder, uncompressed, as the server reports it.

    ``partitions`` is {column: partition metadata} in Pinot's JSON form. Times in epoch milliseconds, None where it has
    none.
    """

    crc: int
    total_docs: int
    index_version: str
    size_bytes: int
    data_crc: int | None = None
    start_ms: int | None = None
    end_ms: int | None = None
    partitions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    custom: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Commit:
    """One commit. ``end_offset`` is exclusive, text as the committer gave it; ``url`` "" means that only servers have
    the file.

    ``rows`` are those consumed, which may be more than were kept (0: not reported). ``is_last``: the partition has
    ended.
    """

    name: LLCName
    end_offset: str
    url: str
    built: Built
    rows: int = 0
    reason: str | None = None
    is_last: bool = False


@dataclass(frozen=True)
class RealtimeTable:
    """What a successor needs to know of its table. ``instances``: the tenant's servers in the table's order.

    ``taken``: names that records hold already although no row does; ``chance`` in [0, 1) spreads tuned row limits.
    """

    typed: str
    replicas: int
    topics: int
    flush: FlushThresholds
    instances: Sequence[str]
    taken: frozenset[str] = frozenset()
    chance: float = 0.5


@dataclass(frozen=True)
class CommitPlan:
    """The three values to write together; ``successor`` is None when nothing is to consume after this segment."""

    done: ZNRecord
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
    """The record of a segment that is about to consume. ``start_offset`` is an offset's
    text, verbatim.

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


def plan_commit(commit: Commit, table: RealtimeTable, old: SegmentMetadata, ideal: ZNRecord, now_ms: int) -> CommitPlan:
    """The writes of one commit.

    Raises StateConflict when the segment is not consuming any more, or its successor exists under another name.
    """
    row = _checked_row(commit, old, ideal)
    last = _committed(commit, old, now_ms)
    ratio = flush_threshold.learned_ratio(last) if flush_threshold.is_tuned(table.flush) else None
    learned = {flush_threshold.RATIO_KEY: repr(ratio)} if ratio else {}
    rows = {commit.name.text: dict.fromkeys(row, ONLINE)}
    successor = None
    if not commit.is_last and not pause_of(ideal).stops(commit.name.partition, table.topics):
        successor = _successor(commit, table, old, ideal, last, learned, now_ms)
        rows[successor.id] = _assigned(commit.name, table, row)
    return CommitPlan(_done(commit, old, learned, now_ms), ideal_state.with_rows(ideal, rows), successor)


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


def _checked_row(commit: Commit, old: SegmentMetadata, ideal: ZNRecord) -> Mapping[str, str]:
    row, name = ideal.maps.get(commit.name.text), commit.name
    if old.status != IN_PROGRESS:
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


def _committed(commit: Commit, old: SegmentMetadata, now_ms: int) -> Committed:
    """Rows and bytes as the tuner wants them: before rows were dropped, where the server reports how
    many there were.
    """
    kept, built = commit.built.total_docs, commit.built
    rows, size = kept, built.size_bytes
    if commit.rows > kept:
        rows, size = commit.rows, built.size_bytes * commit.rows // kept if kept else built.size_bytes
    limit = flush_threshold.committed_of(old).limit
    took = now_ms - (old.creation_ms or now_ms)
    return Committed(rows, size, limit, flush_threshold.ratio_of(old), took, commit.reason)


def _done(commit: Commit, old: SegmentMetadata, learned: Mapping[str, str], now_ms: int) -> ZNRecord:
    built = commit.built
    has_times = built.total_docs > 0 and built.start_ms is not None and built.end_ms is not None
    has_data_crc = built.data_crc is not None and built.data_crc >= 0
    partitions = {"columnPartitionMap": built.partitions}
    changes: dict[str, str | int | None] = {
        STATUS: segment_metadata.DONE,
        END_OFFSET: commit.end_offset,
        "segment.crc": built.crc,
        "segment.data.crc": built.data_crc if has_data_crc else None,
        "segment.use.data.crc": "true" if has_data_crc else None,
        "segment.total.docs": built.total_docs,
        "segment.index.version": built.index_version,
        "segment.size.in.bytes": built.size_bytes if built.size_bytes >= 0 else None,
        "segment.start.time": built.start_ms if has_times else now_ms,
        "segment.end.time": built.end_ms if has_times else now_ms,
        "segment.time.unit": "MILLISECONDS",
        "segment.download.url": commit.url,
        "segment.crypter": None,
        PARTITION_METADATA: json.dumps(partitions, separators=(",", ":")) if built.partitions else None,
    }
    return old.edited(changes, {**old.custom, **built.custom, **learned}).to_record()


def _successor(
    commit: Commit,
    table: RealtimeTable,
    old: SegmentMetadata,
    ideal: ZNRecord,
    last: Committed,
    learned: Mapping[str, str],
    now_ms: int,
) -> ZNRecord:
    limit = flush_threshold.next_row_limit(table.flush, busiest_server(ideal), last, table.chance)
    return consuming_record(
        next_name(commit.name, table.taken, now_ms),
        start_offset=commit.end_offset,
        replicas=table.replicas,
        flush_rows=limit,
        now_ms=now_ms,
        partition_metadata=old.fields.get(PARTITION_METADATA),
        custom=learned,
    )


def _assigned(name: LLCName, table: RealtimeTable, row: Mapping[str, str]) -> dict[str, str]:
    """Pinot's rule over the tenant's servers; where they are too few now, those that consumed the segment go on."""
    try:
        own = stream_partition(name.partition, table.topics)
        return consuming_row_of(table.typed, own, table.replicas, table.instances)
    except StateConflict:
        return consuming_row(row)


def check_built(name: LLCName, built_name: str, built_table: str, end_offset: str, built_end: str | None) -> None:
    """The committer's files must be those of the segment that is committed (rule `winner-only`). Raises
    InvalidInput.
    """
    if built_name != name.text:
        raise InvalidInput(f"The metadata is that of segment '{built_name}', not of '{name}'.")
    if built_table not in ("", name.raw, f"{name.raw}_REALTIME"):
        raise InvalidInput(f"The metadata is that of a segment of table '{built_table}', not of '{name.raw}'.")
    if built_end is not None and built_end != end_offset:
        raise InvalidInput(f"The segment was built up to offset {built_end}, but is committed at {end_offset}.")
