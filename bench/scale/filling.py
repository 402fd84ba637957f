"""Writes segments that have no files into ZooKeeper, a million within minutes: records as a push leaves them, rows of
the ideal state, and what two servers without a process would report.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError
from kazoo.protocol.serialization import Create, int_struct, multiheader_struct, write_buffer, write_string
from kazoo.security import OPEN_ACL_UNSAFE

from bench._large import SERVERS
from segments.domain.formats.znrecord import ZNRecord, encode
from segments.domain.segments.ideal_state import ONLINE, SEGMENT_CRC, external_view, with_rows
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.store import paths
from segments.store.base import Store
from segments.store.on_zookeeper.client import ZooKeeperStore
from segments.store.on_zookeeper.login import ZooKeeperLogin
from segments.store.on_zookeeper.recursive_watch import submit
from segments.store.update import update_record

SESSIONS: Final = {server: f"{number}abc" for number, server in enumerate(SERVERS, 1)}
#: Records in one request, and requests that are under way at once.
_TOGETHER, _AHEAD = 500, 8
_NAME, _CRC = "@NAME@", "@CRC@"
#: A push's, of a table with a time column.
_FIELDS: Final = {
    "segment.crc": _CRC,
    "segment.total.docs": "50000",
    "segment.index.version": "v3",
    "segment.creation.time": "1767225600000",
    "segment.size.in.bytes": "1048576",
    "segment.start.time": "1767225600000",
    "segment.end.time": "1767311999999",
    "segment.time.unit": "MILLISECONDS",
    "segment.start.time.raw": "1767225600000",
    "segment.end.time.raw": "1767311999999",
    "segment.push.time": "1767312000000",
}


def join(store: Store) -> None:
    """The two servers live for as long as the store's session."""
    for server, session in SESSIONS.items():
        store.create(paths.live_instance(server), ZNRecord(server, {"SESSION_ID": session}), ephemeral=True)


class Filler:
    """Writes into the cluster on ``hosts``."""

    def __init__(self, hosts: str, cluster: str, login: ZooKeeperLogin) -> None:
        self._root, self._login = f"/{cluster}", login
        self._client = KazooClient(hosts, timeout=40.0, **login.client_options())
        self._client.start()
        self._store = ZooKeeperStore(hosts, cluster, login=login, session_timeout=40.0)

    def close(self) -> None:
        """End both sessions."""
        self._store.close()
        self._client.stop()
        self._client.close()

    def register(self, typed: str, segments: Sequence[str]) -> None:
        """As if two servers had loaded them."""
        self._records(typed, segments)
        row, store = dict.fromkeys(SERVERS, ONLINE), self._store
        update_record(
            store, paths.ideal_state(typed), lambda node: with_rows(_record(node), dict.fromkeys(segments, row))
        )
        reported = {s: {"CURRENT_STATE": ONLINE, SEGMENT_CRC: _crc(s)} for s in segments}
        for server, session in SESSIONS.items():

            def state(node: Any, session: str = session) -> ZNRecord:
                known = node.record if node else ZNRecord(typed, {"SESSION_ID": session})
                return replace(known, maps={**known.maps, **reported})

            update_record(store, paths.current_state(server, session, typed), state)
        ideal = store.get(paths.ideal_state(typed))
        update_record(store, paths.external_view(typed), lambda _: external_view(_record(ideal), _record(ideal).maps))

    def _records(self, typed: str, segments: Sequence[str]) -> None:
        folder = paths.segments(typed)
        url = f"store:///segments/{typed}/{_NAME}@{_CRC}"
        record = encode(SegmentMetadata(_NAME, {**_FIELDS, "segment.download.url": url}).to_record())
        with suppress(NodeExistsError):
            self._client.create(self._root + folder, acl=self._login.acl(folder), makepath=True)
        sent: deque[Any] = deque()
        for start in range(0, len(segments), _TOGETHER):
            made = [
                (f"{self._root}{folder}/{s}", record.replace(_NAME.encode(), s.encode()).replace(_CRC.encode(), crc))
                for s in segments[start : start + _TOGETHER]
                for crc in [_crc(s).encode()]
            ]
            sent.append(submit(self._client, _Creates(made, self._login.acl(folder) or OPEN_ACL_UNSAFE)))
            if len(sent) > _AHEAD:
                sent.popleft().get(timeout=60)
        for request in sent:
            request.get(timeout=60)


@dataclass(frozen=True)
class _Creates:
    """Request 14: all of these znodes, or none. kazoo's own takes three times as long."""

    znodes: Sequence[tuple[str, bytes]]
    acl: Sequence[Any]
    type: ClassVar[int] = 14

    def serialize(self) -> bytearray:
        """Wire form: a header and a creation for each, then the end."""
        header, end = multiheader_struct.pack(Create.type, False, -1), multiheader_struct.pack(-1, True, -1)
        rest = bytes(Create("", b"", self.acl, 0).serialize())[2 * int_struct.size :]  # behind path and data
        body = bytearray()
        for path, data in self.znodes:
            body += header + write_string(path) + write_buffer(data) + rest
        return body + end

    @classmethod
    def deserialize(cls, data: bytes, offset: int) -> list[str]:
        """Nothing of the reply matters but that it was not refused."""
        kind, _, _ = multiheader_struct.unpack_from(data, offset)
        if kind != Create.type:
            raise RuntimeError("ZooKeeper refused to create segment records; is the cluster filled already?")
        return []


def _record(node: Any) -> ZNRecord:
    record: ZNRecord = node.record
    return record


def _crc(segment: str) -> str:
    return str(zlib.crc32(segment.encode()))
