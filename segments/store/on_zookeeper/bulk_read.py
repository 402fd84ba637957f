"""Many znodes in one request (ZooKeeper 3.6+), and large records decoded once: what makes tables of 100,000 segments
bearable.

kazoo 2.11 sends every read on its own, 110 microseconds of Python each; in one request it is a few.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from struct import Struct
from typing import Any, ClassVar, Final

from kazoo.exceptions import EXCEPTIONS
from kazoo.protocol.serialization import int_struct, stat_struct, write_string
from kazoo.protocol.states import ZnodeStat

from segments.domain.formats.znrecord import ZNRecord, with_shared_rows
from segments.store.base import Versioned
from segments.store.on_zookeeper.replies import versioned

_HEADER: Final = Struct("!i?i")
_GET_DATA: Final = 4
_NO_NODE: Final = -101
_END: Final = _HEADER.pack(-1, True, -1)

#: Of memory: a row of texts, its entry in a dictionary, a name in a list.
_ROW_BYTES, _ENTRY_BYTES, _NAME_BYTES = 400, 60, 120

Found = tuple[bytes, ZnodeStat] | None


@dataclass(frozen=True)
class MultiRead:
    """Request 22: data and stat of every path, None for one that is missing; same order."""

    paths: Sequence[str]
    type: ClassVar[int] = 22

    def serialize(self) -> bytearray:
        """Wire form: a header and a read for each path, then the end."""
        body = bytearray()
        for path in self.paths:
            body += _HEADER.pack(_GET_DATA, False, -1)
            body += write_string(path)
            body += b"\x00"
        return body + _END

    @classmethod
    def deserialize(cls, data: bytes, offset: int) -> list[Found]:
        """Raises kazoo's error for anything but a missing znode."""
        found: list[Found] = []
        while True:
            kind, is_done, error = _HEADER.unpack_from(data, offset)
            offset += _HEADER.size
            if is_done:
                return found
            if kind == _GET_DATA:
                (length,) = int_struct.unpack_from(data, offset)
                offset += int_struct.size
                content = bytes(data[offset : offset + length]) if length > 0 else b""
                offset += max(length, 0)
                found.append((content, ZnodeStat._make(stat_struct.unpack_from(data, offset))))
                offset += stat_struct.size
                continue
            (error,) = int_struct.unpack_from(data, offset)
            offset += int_struct.size
            if error != _NO_NODE:
                raise EXCEPTIONS[error]()
            found.append(None)


class DecodedRecords:
    """Remembers large records by path and the transaction that wrote them, so that each is decoded once, with equal
    rows shared. Records are never edited.

    ``budget`` bounds the bytes of memory, as estimated, of what is remembered; those used longest ago go first.
    """

    def __init__(self, budget: int = 200_000_000, from_bytes: int = 4_096) -> None:
        self._budget, self._from_bytes = budget, from_bytes
        self._lock = threading.Lock()
        #: {path: when it was written, the record, bytes}
        self._known: OrderedDict[str, tuple[tuple[int, int], ZNRecord, int]] = OrderedDict()
        self._size = 0

    def versioned(self, path: str, data: bytes, stat: Any) -> Versioned:
        """As ``replies.versioned``."""
        if len(data) < self._from_bytes:
            return versioned(data, stat)
        written = stat.mzxid, stat.version
        with self._lock:
            known = self._known.get(path)
            if known is not None:
                self._known.move_to_end(path)
        if known is not None and known[0] == written:
            return Versioned(known[1], stat.version, stat.mtime, stat.mzxid, stat.ephemeralOwner)
        value = versioned(data, stat)
        if value.record is None:
            return value
        record = with_shared_rows(value.record)
        self._remember(path, written, record, max(len(data), _memory_of(record)))
        return replace(value, record=record)

    def _remember(self, path: str, written: tuple[int, int], record: ZNRecord, size: int) -> None:
        with self._lock:
            before = self._known.pop(path, None)
            self._known[path] = written, record, size
            self._size += size - (before[2] if before is not None else 0)
            while self._size > self._budget:
                self._size -= self._known.popitem(last=False)[1][2]


def _memory_of(record: ZNRecord) -> int:
    """Bytes, roughly; on the wire it may be a hundredth."""
    rows = len({id(row) for row in record.maps.values()}) * _ROW_BYTES
    return rows + len(record.maps) * _ENTRY_BYTES + sum(map(len, record.lists.values())) * _NAME_BYTES
