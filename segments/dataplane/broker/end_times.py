"""Newest end time of an OFFLINE table's segments, for the time boundary of hybrid tables; records are read once and
again when written.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence

from segments.domain.segments import segment_metadata
from segments.errors import PinotAdminError
from segments.store import paths
from segments.store.base import Store, Versioned


class EndTimes:
    """End times by table and segment. ``mark_stale`` may be called from the store's thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: dict[str, dict[str, int]] = defaultdict(dict)
        self._writes = 0

    def mark_stale(self, table: str | None, segment: str = "") -> bool:
        """A record was written (no segment: any of the table; no table: any at all). True when it counts for a
        boundary.
        """
        with self._lock:
            self._writes += 1
            if table is None:
                counted = bool(self._known)
                self._known.clear()
            elif segment:
                counted = self._known.get(table, {}).pop(segment, None) is not None
            else:
                counted = self._known.pop(table, None) is not None
        return counted

    def newest(self, table: str, segments: Sequence[str]) -> int | None:
        """The newest end time of these segments, milliseconds; None when none of them has one."""
        with self._lock:
            known, writes = dict(self._known.get(table, {})), self._writes
        missing = [s for s in segments if s not in known]
        nodes = self._store.get_many([paths.segment(table, s) for s in missing]) if missing else []
        known.update({s: _end_of(node) for s, node in zip(missing, nodes, strict=True)})
        with self._lock:
            if self._writes == writes:
                self._known[table] = {s: known[s] for s in segments}
            else:  # a record was written meanwhile: what was read of it may be old, so it is read again next time
                self._known.setdefault(table, {})
        return max((known[s] for s in segments if known[s] > 0), default=None)


def _end_of(node: Versioned | None) -> int:
    try:
        return (segment_metadata.from_record(node.record).end_ms or 0) if node and node.record else 0
    except PinotAdminError:
        return 0
