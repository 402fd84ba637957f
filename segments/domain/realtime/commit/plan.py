"""A standard commit: its start and its end are written at once, when the built file is there.

Invariant: all of it is one transaction (rule `one-transaction`); the segment is never seen COMMITTING.
"""

from __future__ import annotations

from dataclasses import dataclass

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime import flush_threshold
from segments.domain.realtime.commit.end import Built, done_record, learned_from
from segments.domain.realtime.commit.start import CommitStart, RealtimeTable, checked_row, follow
from segments.domain.realtime.llc_name import LLCName
from segments.domain.segments.segment_metadata import SegmentMetadata


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
class CommitPlan:
    """The three values to write together; ``successor`` is None when nothing is to consume after this segment."""

    done: ZNRecord
    ideal: ZNRecord
    successor: ZNRecord | None


def plan_commit(commit: Commit, table: RealtimeTable, old: SegmentMetadata, ideal: ZNRecord, now_ms: int) -> CommitPlan:
    """The writes of one commit.

    Raises StateConflict when the segment is not consuming any more, or its successor exists under another name.
    """
    row = checked_row(commit.name, old, ideal)
    last = learned_from(old, commit.built, now_ms, rows=commit.rows, reason=commit.reason)
    learned = flush_threshold.ratio_items(last) if flush_threshold.is_tuned(table.flush) else {}
    start = CommitStart(commit.name, commit.end_offset, commit.rows, commit.reason, commit.is_last)
    successor, changed = follow(start, table, old, ideal, row, last, now_ms)
    done = done_record(old, commit.end_offset, commit.built, commit.url, learned, now_ms)
    return CommitPlan(done, changed, successor)
