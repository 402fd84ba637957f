"""A standard commit: its start and its end are written at once, when the built file is there.

Invariant: all of it is one transaction (rule `one-transaction`); the segment is never seen COMMITTING.
"""

from __future__ import annotations

from dataclasses import dataclass

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime import flush_threshold
from segments.domain.realtime.commit.end import Built, done_record, learned_from
from segments.domain.realtime.commit.start import CommitPlan, CommitStart, RealtimeTable, checked_row, follow
from segments.domain.segments.segment_metadata import SegmentMetadata


@dataclass(frozen=True)
class Commit:
    """One commit: its start, and what was built. ``url`` "" means that only servers have the file.

    ``start.rows`` are those consumed, which may be more than were kept (0: not reported).
    """

    start: CommitStart
    url: str
    built: Built


def plan_commit(commit: Commit, table: RealtimeTable, old: SegmentMetadata, ideal: ZNRecord, now_ms: int) -> CommitPlan:
    """The writes of one commit.

    Raises StateConflict when the segment is not consuming any more, or its successor exists under another name.
    """
    start = commit.start
    row = checked_row(start.name, old, ideal)
    last = learned_from(old, commit.built, now_ms, rows=start.rows, reason=start.reason)
    learned = flush_threshold.ratio_items(last) if flush_threshold.is_tuned(table.flush) else {}
    successor, changed = follow(start, table, old, ideal, row, last, now_ms)
    done = done_record(old, start.end_offset, commit.built, commit.url, learned, now_ms)
    return CommitPlan(done, changed, successor)
