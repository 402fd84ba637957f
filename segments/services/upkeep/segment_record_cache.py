"""Records of committed segments as the passes of this process saw them: those that hardly change any more are not read
every minute.

A segment is settled when it is committed and the deep store has its file. Settled ones are read again once an hour, all
others each time.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from segments.domain.segments.segment_metadata import COMPLETED_STATUSES, SegmentMetadata

#: After this long what is settled is read again: an upload may have replaced the segment.
READ_AGAIN_MS: Final = 3_600_000

#: What no name of a znode has.
_END: Final = "\0"
#: In place of a number that is not known.
_UNKNOWN: Final = -(2**63)

Read = Callable[[Sequence[str]], Mapping[str, SegmentMetadata]]


class CachedRecord(NamedTuple):
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

    @property
    def fits(self) -> bool:
        """Are its numbers such as a segment has? Anything may stand in a record."""
        return all(n is None or _UNKNOWN < n < -_UNKNOWN for n in (self.size_bytes, self.start_ms, self.end_ms))


#: What is before the segment's name, whether this is in it, and what is behind; None: no address is on record.
_Address = tuple[str, bool, str] | None


def _address(url: str | None, name: str) -> _Address:
    if url is None:
        return None
    before, has_name, behind = url.partition(name)
    return before, bool(has_name), behind


class _Settled:
    """Records as they are kept for an hour by every process that runs passes: a million of them in 0.1 GB. What many of
    a table have in common (status, address up to the name) is kept once, numbers lie side by side.
    """

    def __init__(self, records: Mapping[str, CachedRecord] = MappingProxyType({})) -> None:
        kinds: dict[tuple[str, _Address], int] = {}
        self._names, self._codes, self._numbers = _END.join(records), array("L"), array("q")
        for name, one in records.items():
            kind = one.status, _address(one.url, name)
            self._codes.append(kinds.setdefault(kind, len(kinds)))
            self._numbers.extend(_UNKNOWN if n is None else n for n in (one.size_bytes, one.start_ms, one.end_ms))
        self._kinds = list(kinds)

    def __len__(self) -> int:
        return len(self._codes)

    def of(self, names: Collection[str]) -> dict[str, CachedRecord]:
        """Those of these names that are known."""
        wanted, numbers, found = set(names), iter(self._numbers), dict[str, CachedRecord]()
        known = self._names.split(_END) if self._codes else []
        for name, code, *values in zip(known, self._codes, numbers, numbers, numbers, strict=True):
            if name in wanted:
                status, address = self._kinds[code]
                size, start_ms, end_ms = (None if n == _UNKNOWN else n for n in values)
                url = None if address is None else f"{address[0]}{name if address[1] else ''}{address[2]}"
                found[name] = CachedRecord(status, url, size or 0, start_ms, end_ms)
        return found


@dataclass
class _Table:
    began_ms: int
    settled: _Settled


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
            before = _Settled() if known is None or is_old else known.settled
            began_ms = now_ms if known is None or is_old else known.began_ms
        kept = before.of(names)
        fresh = {
            name: CachedRecord(m.status, m.download_url, m.size_bytes or 0, m.start_ms, m.end_ms)
            for name, m in read_now([n for n in names if n not in kept]).items()
        }
        found = {**kept, **fresh}
        settled = {name: seen for name, seen in fresh.items() if seen.is_settled and seen.fits}
        if settled or len(kept) != len(before):
            before = _Settled({**kept, **settled})
        with self._lock:
            self._tables[typed] = _Table(began_ms, before)
        return found
