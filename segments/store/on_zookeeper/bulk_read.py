"""Many znodes in one request (ZooKeeper 3.6+), and large records decoded once: what makes tables of 100,000 segments
bearable.

kazoo 2.11 sends every read on its own, 110 microseconds of Python each; in one request it is a few.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Any, ClassVar, Final

from kazoo.exceptions import EXCEPTIONS
from kazoo.protocol.serialization import int_struct, stat_struct, write_string
from kazoo.protocol.states import ZnodeStat

from segments.domain.formats.znrecord import ZNRecord
from segments.store.base import Versioned
from segments.store.on_zookeeper.replies import versioned

_HEADER: Final = Struct("!i?i")
_GET_DATA: Final = 4
_NO_NODE: Final = -101
_END: Final = _HEADER.pack(-1, True, -1)

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
    """Remembers large records by path and the transaction that wrote them, so that each is decoded once. Records are
    never edited.

    ``budget`` bounds the bytes on the wire of what is remembered; those used longest ago go first.
    """

    def __init__(self, budget: int = 16_000_000, from_bytes: int = 16_384) -> None:
        self._budget, self._from_bytes = budget, from_bytes
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, int, int], tuple[ZNRecord | None, int]] = OrderedDict()
        self._size = 0

    def versioned(self, path: str, data: bytes, stat: Any) -> Versioned:
        """As ``replies.versioned``."""
        if len(data) < self._from_bytes:
            return versioned(data, stat)
        key = (path, stat.mzxid, stat.version)
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
        if known is not None:
            return Versioned(known[0], stat.version, stat.mtime, stat.mzxid, stat.ephemeralOwner)
        value = versioned(data, stat)
        self._remember(key, value.record, len(data))
        return value

    def _remember(self, key: tuple[str, int, int], record: ZNRecord | None, size: int) -> None:
        with self._lock:
            for old in [k for k in self._known if k[0] == key[0]]:
                self._size -= self._known.pop(old)[1]
            self._known[key] = (record, size)
            self._size += size
            while self._size > self._budget:
                self._size -= self._known.popitem(last=False)[1][1]
