"""Reads the ZooKeeper of a real Pinot: opened when first used, never written to, any version of ZooKeeper, records as Helix leaves them."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from kazoo.exceptions import KazooException, NoNodeError

from segments.domain.znrecord import ZNRecord
from segments.errors import Forbidden, PinotAdminError, RecordCorrupt, Unavailable
from segments.store import paths
from segments.store.base import Versioned, Watch, WatchCallback
from segments.store.dispatch import Subscription
from segments.store.polling import Poller
from segments.store.read_only import ReadOnly
from segments.store.replies import settle
from segments.store.zookeeper import ZooKeeperStore

log = logging.getLogger(__name__)

#: The first ZooKeeper with watches on trees and many reads in one request; older ones end the session of who asks for either.
_NEW: Final = (3, 6)
_VERSION: Final = re.compile(r"Zookeeper version: (\d+)\.(\d+)", re.IGNORECASE)
#: Seconds that an attempt to connect takes at most; pauses between attempts.
_CONNECT_S: Final = 4.0
_PAUSES_S: Final = (1.0, 15.0)


class PinotZooKeeper(ReadOnly):
    """``Store`` of the cluster that ``cluster`` names at ``hosts``. Opening costs nothing; while ZooKeeper is away every use
    fails at once but for one attempt after each pause."""

    def __init__(self, hosts: str, cluster: Callable[[], str], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._hosts, self._cluster, self._clock = hosts, cluster, clock
        self._lock = threading.Lock()
        self._opened: _Session | None = None
        self._is_closed = False
        self._pause_s = _PAUSES_S[0]
        self._failed: tuple[float, PinotAdminError] | None = None

    def get(self, path: str) -> Versioned | None:
        return self._session().get(path)

    def get_many(self, paths: Sequence[str]) -> list[Versioned | None]:
        return self._session().get_many(paths)

    def children(self, path: str) -> list[str]:
        return self._session().children(path)

    def exists(self, path: str) -> int | None:
        return self._session().exists(path)

    def watch(self, prefix: str, callback: WatchCallback) -> Watch:
        return self._session().watch(prefix, callback)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            if self._opened is not None:
                self._opened.close()

    def _session(self) -> _Session:
        if self._opened is not None:
            return self._opened
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def _open(self) -> _Session:
        if self._is_closed:
            raise Unavailable("This connection to ZooKeeper is closed.", remedy="Open a new store.")
        if self._failed is not None and self._clock() < self._failed[0]:
            raise self._failed[1]
        try:
            cluster = self._cluster()
            session = _Session(self._hosts, cluster)
            try:
                session.require_cluster(self._hosts, cluster)
            except PinotAdminError:
                session.close()
                raise
        except PinotAdminError as error:
            self._failed = (self._clock() + self._pause_s, error)
            self._pause_s = min(self._pause_s * 2, _PAUSES_S[1])
            raise
        self._failed, self._pause_s = None, _PAUSES_S[0]
        return session


class _Session(ZooKeeperStore):
    """One session; an old ZooKeeper is read and watched with what it knows."""

    def __init__(self, hosts: str, cluster: str) -> None:
        super().__init__(hosts, cluster, session_timeout=10.0, connect_timeout=_CONNECT_S)
        self._is_old = self._version() < _NEW
        self._has_multi_read = not self._is_old
        self._poller = Poller(f"zookeeper-{cluster}", self._stamps)

    def require_cluster(self, hosts: str, cluster: str) -> None:
        """Unavailable when there is no such Helix cluster here: an empty mirror would look like dropped tables."""
        if self.exists(paths.IDEAL_STATES) is None:
            text = f"ZooKeeper at {hosts} holds no Pinot cluster '{cluster}'."
            raise Unavailable(
                text, remedy="Check the address (with its path, as Pinot has it) and the cluster's name.", state="wrong-cluster"
            )

    def watch(self, prefix: str, callback: WatchCallback) -> Subscription:
        return self._poller.watch(prefix, callback) if self._is_old else super().watch(prefix, callback)

    def close(self) -> None:
        self._poller.close()
        super().close()

    def create(self, path: str, record: ZNRecord | None, *, ephemeral: bool = False) -> Versioned:
        raise Forbidden(f"{path} belongs to Pinot and is only read here.")

    def _value(self, path: str, data: bytes | None, stat: Any) -> Versioned:
        """What is no ZNRecord counts as a znode without data below a table's segments, where one must not hide all others."""
        try:
            return super()._value(path, data, stat)
        except RecordCorrupt as error:
            if not path.startswith(paths.SEGMENTS + "/"):
                raise
            log.warning("%s: %s", path, error.message)
            return Versioned(None, stat.version, stat.mtime, stat.mzxid, stat.ephemeralOwner)

    def _get_together(self, paths: Sequence[str]) -> list[Any]:
        if self._is_old:
            return settle([self._client.get_async(self._full(path)) for path in paths], NoNodeError)
        return super()._get_together(paths)

    def _stamps(self, parent: str, of_children: bool) -> dict[str, int]:
        names = self.children(parent)
        asked = [self._full(f"{parent}/{name}") for name in names]
        stats = self._read(lambda: settle([self._client.exists_async(path) for path in asked], NoNodeError))
        found = zip(names, stats, strict=True)
        return {name: stat.pzxid if of_children else stat.mzxid for name, stat in found if stat is not None}

    def _version(self) -> tuple[int, ...]:
        try:
            found = _VERSION.search(self._client.command(b"srvr"))
        except (KazooException, OSError, UnicodeDecodeError) as error:
            log.info("ZooKeeper does not answer 'srvr': %s", error)
            found = None
        if found is None:
            log.info("ZooKeeper does not tell its version; it is read as an old one.")
            return (0,)
        return int(found[1]), int(found[2])
