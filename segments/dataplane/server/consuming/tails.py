"""Rows that were read behind the end of a full segment, for queries that do not know its successor yet (B25).

A segment that is full is built and committed, which takes a moment; its partition is read on meanwhile. Until brokers route the next
segment, they ask for these rows as the *tail* of the one that ended, so that visible rows never stand still at a commit. Whoever asks
names the number of the segment's own rows: only behind exactly these do the rows of the tail belong. Where segments end faster than
brokers hear of them, a tail goes on over the next end.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from segments.dataplane.server.consuming.intake import Intake
from segments.dataplane.server.consuming.view import View

#: Seconds for which a tail is kept once its rows are in a segment file; brokers hear of a segment in a fraction of one.
_KEEP_S: Final = 5.0


@dataclass
class _Tail:
    """``rows``: of the segment itself when reading behind it began. ``began``: of ``time.monotonic``. ``has_next``: the segment was seen
    to have a successor."""

    segment: str
    sequence: int
    rows: int
    intake: Intake
    began: float
    has_next: bool = False


class Tails:
    """The last tails of each partition, oldest first. Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tails: dict[tuple[str, int], list[_Tail]] = defaultdict(list)

    def put(self, ended: Intake, rows: int, ahead: Intake) -> None:
        """The partition of ``ended``, which had so many rows then, is read on by ``ahead``."""
        source = ended.source
        with self._lock:
            tails = self._tails[source.table, source.name.partition]
            tails.append(_Tail(source.name.text, source.name.sequence, rows, ahead, time.monotonic()))

    def compare(self, table: str, segments: Collection[str]) -> None:
        """``segments`` are those of the ideal state: where successors were deleted again, their rows are no tail of what is left."""
        with self._lock:
            for (name, partition), tails in self._tails.items():
                if name != table or not tails:
                    continue
                newest = _newest(segments, tails[0].segment.rsplit("__", 3)[0], partition)
                for tail in tails:
                    tail.has_next |= newest > tail.sequence
                self._tails[name, partition] = [t for t in tails if not t.has_next or newest > t.sequence]

    def forget_old(self, table: str, partition: int) -> None:
        """A segment of the partition is a file now: tails whose rows are in files for long are not needed any more."""
        old = time.monotonic() - _KEEP_S
        with self._lock:
            tails = self._tails[table, partition]
            self._tails[table, partition] = [*(t for t in tails[:-1] if t.began > old), *tails[-1:]]

    def forget_table(self, table: str) -> None:
        """The table is gone."""
        with self._lock:
            for key in [key for key in self._tails if key[0] == table]:
                del self._tails[key]

    def of(self, table: str, segment: str, rows: int) -> list[View]:
        """What was read behind the segment's ``rows`` rows; nothing when nothing was, or behind another end."""
        with self._lock:
            known = next((list(t) for (name, _), t in self._tails.items() if name == table and _place(t, segment) >= 0), [])
        views: list[View] = []
        name = segment
        for tail in known[_place(known, segment) :] if known else ():
            if (tail.segment, tail.rows) != (name, rows):
                break
            view = View(segment, tail.intake.segment.snapshot())
            views.append(view)
            name, rows = tail.intake.source.name.text, view.num_docs
        return views


def _newest(segments: Collection[str], raw: str, partition: int) -> int:
    """The highest sequence of a partition, -1 when it has no segment."""
    start = f"{raw}__{partition}__"
    return max((int(s[len(start) :].partition("__")[0]) for s in segments if s.startswith(start)), default=-1)


def _place(tails: list[_Tail], segment: str) -> int:
    """Position of the newest tail of this segment, -1 when there is none."""
    return next((i for i in reversed(range(len(tails))) if tails[i].segment == segment), -1)
