"""What the mirror of a cluster has to read: marked by watches, gathered for a moment, taken by the one thread that
reads and writes.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from segments.names import TABLE_TYPES, split_table_name
from segments.store import paths

#: Seconds that a piece of such a check waits at most while there are always changes.
_PIECE_S: Final = 1.0
#: Seconds for the first call of all watches.
_FIRST_CALLS_S: Final = 1.5


@dataclass
class Dirty:
    """What is to be read again of a table: documents, by the prefix of their path, and records of segments."""

    documents: set[str] = field(default_factory=set)
    segments: set[str] = field(default_factory=set)

    def add(self, other: Dirty) -> None:
        """And this."""
        self.documents |= other.documents
        self.segments |= other.segments


@dataclass
class Work:
    """What is to be done next: ``everything`` may have changed, or it is time for a full check (``is_sweep``), or these
    tables did.
    """

    everything: bool = False
    is_sweep: bool = False
    tables: dict[str, Dirty] = field(default_factory=dict)


class Pending:
    """Safe between the threads of watches and the one that works. ``prefixes`` are those that are watched; every
    ``sweep_s`` seconds it is time for a full check, watches or not. Further changes join one for ``gather_s``
    seconds.
    """

    def __init__(self, prefixes: Sequence[str], sweep_s: float, gather_s: float) -> None:
        self._prefixes, self._sweep_s, self._gather_s = prefixes, sweep_s, gather_s
        self._lock = threading.Condition()
        self._now = Work(everything=True)
        self._first_at = time.monotonic()
        self._doubts = 0
        self._pieces: deque[tuple[str, Dirty]] = deque()
        self._swept_at = self._piece_at = time.monotonic()
        self.is_stopped = False

    def stop(self) -> None:
        """Nothing more is to be done."""
        with self._lock:
            self.is_stopped = True
            self._lock.notify_all()

    def mark(self, path: str | None) -> None:
        """Something happened there; None: anywhere."""
        with self._lock:
            if not (self._now.everything or self._now.tables):
                self._first_at = time.monotonic()
            if path is None:
                self._doubts += 1
                self._now.everything = True
            else:
                self._mark(path)
            self._lock.notify_all()

    def again(self, work: Work, pause: float) -> None:
        """The same has to be done after a pause, or when anything changes."""
        with self._lock:
            self._now.everything = self._now.everything or work.everything
            self._now.is_sweep = self._now.is_sweep or work.is_sweep
            for name, dirty in work.tables.items():
                self._now.tables.setdefault(name, Dirty()).add(dirty)
            if not self.is_stopped:
                self._lock.wait(pause)

    def sweep(self, pieces: Iterable[tuple[str, Dirty]]) -> None:
        """Check these, one after the other, between changes: no change waits for all of them."""
        with self._lock:
            self._pieces = deque(pieces)
            self._swept_at = time.monotonic()

    def await_first_calls(self) -> None:
        """Each watch calls once with None at once; if these came later everything would be read twice."""
        with self._lock:
            self._lock.wait_for(lambda: self._doubts >= len(self._prefixes) or self.is_stopped, _FIRST_CALLS_S)

    def next(self, *, wait: bool) -> Work:
        """What is to be done now; nothing when stopped."""
        with self._lock:
            if wait and not self._pieces:
                self._lock.wait_for(self._is_due, max(0.0, self._swept_at + self._sweep_s - time.monotonic()))
            if self._now.tables and not self._now.everything:
                until = self._first_at + self._gather_s
                self._lock.wait_for(lambda: self.is_stopped, max(0.0, until - time.monotonic()))
            return self._take()

    def _take(self) -> Work:
        work, self._now = self._now, Work()
        now = time.monotonic()
        work.is_sweep = work.is_sweep or now - self._swept_at >= self._sweep_s
        if self._pieces and (not work.tables or now - self._piece_at > _PIECE_S):
            self._piece_at = now
            name, dirty = self._pieces.popleft()
            work.tables.setdefault(name, Dirty()).add(dirty)
        return work

    def _is_due(self) -> bool:
        return self.is_stopped or self._now.everything or self._now.is_sweep or bool(self._now.tables)

    def _mark(self, path: str) -> None:
        """A segment's record makes that segment dirty, everything else one document of its table."""
        for prefix in self._prefixes:
            if not path.startswith(prefix + "/"):
                continue
            table, _, segment = path[len(prefix) + 1 :].partition("/")
            tables = [f"{table}_{kind}" for kind in TABLE_TYPES] if prefix == paths.SCHEMAS else [table]
            for name in tables:
                if split_table_name(name)[1]:
                    dirty = Dirty(segments={segment}) if segment else Dirty(documents={prefix} - {paths.SEGMENTS})
                    self._now.tables.setdefault(name, Dirty()).add(dirty)


def pieces_of(name: str, documents: Collection[str], segments: Sequence[str], size: int) -> list[tuple[str, Dirty]]:
    """A check of these of a table in pieces of at most ``size`` segments, the documents first."""
    parts = [segments[start : start + size] for start in range(0, len(segments), size)]
    first = [(name, Dirty(documents=set(documents)))] if documents else []
    return [*first, *((name, Dirty(segments=set(part))) for part in parts)]
