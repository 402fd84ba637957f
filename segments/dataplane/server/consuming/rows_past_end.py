"""Rows that were read behind the end of a full segment, for queries that do not know its successor yet (rule
`never-backwards`).

A segment that is full is built and committed, which takes a moment; its partition is read on meanwhile. Until brokers
route the next segment, they ask for these rows as the *tail* of the one that ended, so that visible rows never stand
still at a commit. Whoever asks names the number of the segment's own rows: only behind exactly these do the rows of the
tail belong. Where segments end faster than brokers hear of them, a tail goes on over the next end; where a commit takes
long, also over ends of segments that nobody has begun yet.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from segments.dataplane.server.consuming.partition_reader import PartitionReader
from segments.dataplane.server.consuming.source import Source
from segments.dataplane.server.consuming.view import View

#: Seconds for which a tail is kept once the segment before it has ended; brokers hear of the next one in a fraction of
#: one.
_KEEP_S: Final = 5.0


@dataclass
class _Tail:
    """``rows``: of what ended when reading behind it began. ``after``: rows read ahead that are no segment's yet, which
    this one follows; else it follows ``segment``. ``has_next``: the segment was seen to have a successor. ``until``: of
    ``time.monotonic``, when it goes.
    """

    segment: str
    sequence: int
    rows: int
    intake: PartitionReader
    after: PartitionReader | None = None
    has_next: bool = False
    until: float | None = None

    def follows(self, other: _Tail) -> bool:
        """Are its rows the ones right behind the other's?"""
        return self.after is other.intake or (self.after is None and self.segment == other.intake.source.name.text)


class RowsPastEnd:
    """The last tails of each partition, oldest first. Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tails: dict[tuple[str, int], list[_Tail]] = defaultdict(list)

    def put(self, ended: PartitionReader, rows: int, ahead: PartitionReader) -> None:
        """The partition of ``ended``, a segment that had so many rows then, is read on by ``ahead``."""
        source = ended.source
        with self._lock:
            self._tails[source.table, source.name.partition].append(
                _Tail(source.name.text, source.name.sequence, rows, ahead)
            )

    def go_on(self, full: PartitionReader, behind: PartitionReader) -> None:
        """``full`` was read ahead and is not a segment yet; its partition is read on by ``behind``."""
        source = full.source
        with self._lock:
            tails = self._tails[source.table, source.name.partition]
            last = next((t for t in reversed(tails) if t.intake is full), None)
            if last is not None:
                tails.append(_Tail(last.segment, last.sequence + 1, full.segment.rows, behind, full))

    def taken(self, ahead: PartitionReader, source: Source) -> None:
        """What was read ahead is this segment's now."""
        with self._lock:
            ahead.source = source
            for tail in self._tails[source.table, source.name.partition]:
                if tail.after is ahead:
                    tail.segment, tail.sequence, tail.after = source.name.text, source.name.sequence, None

    def unowned_bytes(self) -> int:
        """Memory of the rows that were read ahead beyond the next segment of each partition."""
        with self._lock:
            return sum(t.intake.segment.bytes for tails in self._tails.values() for t in tails if t.after is not None)

    def compare(self, table: str, segments: Collection[str]) -> None:
        """``segments`` are those of the ideal state: where successors were deleted again, their rows are no tail of
        what is left.
        """
        with self._lock:
            for (name, partition), tails in self._tails.items():
                if name != table or not tails:
                    continue
                newest = _newest(segments, tails[0].segment.rsplit("__", 3)[0], partition)
                for tail in tails:
                    tail.has_next |= newest > tail.sequence
                self._tails[name, partition] = [t for t in tails if not t.has_next or newest > t.sequence]

    def ended(self, table: str, partition: int, sequence: int) -> None:
        """The partition's segments up to this one are files now: their tails are not needed for long any more."""
        now = time.monotonic()
        with self._lock:
            tails = self._tails[table, partition]
            for tail in tails:
                if tail.sequence <= sequence and tail.until is None:
                    tail.until = now + _KEEP_S
            self._tails[table, partition] = [t for t in tails if t is tails[-1] or t.until is None or t.until > now]

    def forget_table(self, table: str) -> None:
        """The table is gone."""
        with self._lock:
            for key in [key for key in self._tails if key[0] == table]:
                del self._tails[key]

    def of(self, table: str, segment: str, rows: int) -> list[View]:
        """What was read behind the segment's ``rows`` rows; nothing when nothing was, or behind another end."""
        with self._lock:
            found = (
                ts for (name, _), ts in self._tails.items() if name == table and any(t.segment == segment for t in ts)
            )
            tails = next(found, [])
            at = next(
                (i for i in reversed(range(len(tails))) if tails[i].segment == segment and tails[i].after is None), -1
            )
            views: list[View] = []
            while at >= 0 and tails[at].rows == rows:
                views.append(View(segment, tails[at].intake.segment.snapshot()))
                rows = views[-1].num_docs
                at = next((i for i in reversed(range(at + 1, len(tails))) if tails[i].follows(tails[at])), -1)
        return views


def _newest(segments: Collection[str], raw: str, partition: int) -> int:
    """The highest sequence of a partition, -1 when it has no segment."""
    start = f"{raw}__{partition}__"
    return max((int(s[len(start) :].partition("__")[0]) for s in segments if s.startswith(start)), default=-1)
