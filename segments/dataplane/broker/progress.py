"""Remembers how far this broker has read each consuming segment, so that no later query of it sees fewer rows (B25).

Replicas consume on their own, one may be ahead of another. Two things keep answers from going back: queries of a partition stay with
one server while it is up, and each request says how many rows of a growing segment were seen before; a server that is behind waits a
moment for them. When the only replica left can not get there (the one that was ahead is dead), what it has is the truth from then on.
"""

from __future__ import annotations

import threading
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence

from segments.dataplane.broker.routing import Routing, ServerRef


class Progress:
    """Rows seen of each growing segment, and the server that each partition was read from. Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._docs: dict[str, dict[str, int]] = defaultdict(dict)
        self._server: dict[str, str] = {}

    def seen(self, routing: Routing) -> dict[str, int]:
        """{growing segment: rows that a query of this broker has seen}; only those of which there are any."""
        with self._lock:
            docs = self._docs.get(routing.table.typed, {})
            return {s: docs[s] for s in routing.growing if s in docs}

    def note(self, routing: Routing, asked: Mapping[str, int], found: Mapping[str, int]) -> None:
        """A query that ``asked`` for at least so many rows was answered from ``found``; both {segment: rows}."""
        with self._lock:
            docs = self._docs[routing.table.typed]
            for segment in [s for s in docs if s not in routing.growing]:
                del docs[segment]
            for segment, rows in found.items():
                before = docs.get(segment, 0)
                # Fewer than were asked for: nobody left has them.
                if rows > before or (rows < asked.get(segment, 0) and before == asked[segment]):
                    docs[segment] = rows

    def choose(self, segment: str, choice: Sequence[ServerRef]) -> ServerRef:
        """The server of ``choice`` (not empty) that this segment's partition was read from before; else one by its name, so that
        partitions spread."""
        partition = _partition(segment)
        with self._lock:
            before = self._server.get(partition)
            found = next((s for s in choice if s.instance == before), None)
            if found is None:
                found = sorted(choice, key=lambda s: s.instance)[zlib.crc32(partition.encode()) % len(choice)]
                self._server[partition] = found.instance
            return found

    def forget(self, table: str) -> None:
        """The table is gone."""
        with self._lock:
            self._docs.pop(table, None)


def _partition(segment: str) -> str:
    """``table__partition`` of ``table__partition__sequence__time``."""
    return segment.rsplit("__", 2)[0]
