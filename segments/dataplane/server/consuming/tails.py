"""Rows that were read behind the end of a full segment, for queries that do not know its successor yet (B25).

A segment that is full is built and committed, which takes a moment; its partition is read on meanwhile. Until brokers route the next
segment, they ask for these rows as the *tail* of the one that ended, so that visible rows never stand still at a commit. Whoever asks
names the number of the segment's own rows: only behind exactly these do the rows of the tail belong.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from segments.dataplane.server.consuming.intake import Intake
from segments.dataplane.server.consuming.view import View


@dataclass(frozen=True)
class _Tail:
    """``rows``: of the segment itself when reading behind it began."""

    segment: str
    rows: int
    intake: Intake


class Tails:
    """The newest tail of each partition. Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tails: dict[tuple[str, int], _Tail] = {}

    def put(self, ended: Intake, rows: int, ahead: Intake) -> None:
        """The partition of ``ended``, which had so many rows then, is read on by ``ahead``."""
        source = ended.source
        with self._lock:
            self._tails[source.table, source.name.partition] = _Tail(source.name.text, rows, ahead)

    def forget(self, table: str, partition: int, ahead: Intake) -> None:
        """What ``ahead`` read is a segment file now."""
        with self._lock:
            found = self._tails.get((table, partition))
            if found is not None and found.intake is ahead:
                del self._tails[table, partition]

    def forget_table(self, table: str) -> None:
        """The table is gone."""
        with self._lock:
            self._tails = {key: tail for key, tail in self._tails.items() if key[0] != table}

    def of(self, table: str, segment: str, rows: int) -> View | None:
        """What was read behind the segment's ``rows`` rows; None when nothing was, or behind another end."""
        with self._lock:
            found = next((t for (name, _), t in self._tails.items() if name == table and t.segment == segment), None)
        if found is None or found.rows != rows:
            return None
        return View(segment, found.intake.segment.snapshot())
