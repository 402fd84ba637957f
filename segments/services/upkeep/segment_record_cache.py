"""Records of committed segments as the passes of this process saw them: those that hardly change any more are not read
every minute.

A segment is settled when it is committed and the deep store has its file. Settled ones are read again once an hour, all
others each time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from segments.domain.segments.segment_metadata import COMPLETED_STATUSES, SegmentMetadata

#: After this long what is settled is read again: an upload may have replaced the segment.
READ_AGAIN_MS: Final = 3_600_000

Read = Callable[[Sequence[str]], Mapping[str, SegmentMetadata]]


@dataclass(frozen=True, slots=True)
class CachedRecord:
    """Bytes of the segment's file, 0 where unknown; ``url`` as recorded, "" when only servers have the file;
    ``start_ms`` and ``end_ms`` of its rows, None where unknown.
    """

    status: str
    url: str | None
    size_bytes: int
    start_ms: int | None = None
    end_ms: int | None = None

    @property
    def is_settled(self) -> bool:
        """Committed, and kept by the deep store."""
        return self.status in COMPLETED_STATUSES and self.url != ""


@dataclass
class _Table:
    began_ms: int
    settled: dict[str, CachedRecord] = field(default_factory=dict)


class SegmentRecordCache:
    """The settled records of each table. May be used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tables: dict[str, _Table] = {}

    def read(self, typed: str, names: Collection[str], read_now: Read, now_ms: int) -> dict[str, CachedRecord]:
        """{segment: record} of those of ``names``, all segments of the table, that have one; ``read_now`` reads what
        is not settled.
        """
        with self._lock:
            known = self._tables.get(typed)
            is_old = known is None or not 0 <= now_ms - known.began_ms < READ_AGAIN_MS
            before = {} if known is None or is_old else known.settled
            began_ms = now_ms if known is None or is_old else known.began_ms
        kept = {name: before[name] for name in names if name in before}
        fresh = {
            name: CachedRecord(m.status, m.download_url, m.size_bytes or 0, m.start_ms, m.end_ms)
            for name, m in read_now([n for n in names if n not in kept]).items()
        }
        found = {**kept, **fresh}
        with self._lock:
            self._tables[typed] = _Table(began_ms, {name: seen for name, seen in found.items() if seen.is_settled})
        return found
