"""Reads the ZooKeeper of a real Pinot: opened when first used, never written to, any version of ZooKeeper, records as
Helix leaves them.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from kazoo.exceptions import KazooException, NoNodeError
from kazoo.protocol.states import KazooState

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Forbidden, PinotAdminError, RecordCorrupt, Unavailable
from segments.store import paths
from segments.store.base import Versioned, Watch, WatchCallback
from segments.store.on_pinot.overlay import Both
from segments.store.on_pinot.poll_interval import Terms
from segments.store.on_pinot.polling import DEFINITIONS, DOCUMENTS, Plan, Poller
from segments.store.on_pinot.read_only import ReadOnly
from segments.store.on_pinot.refreshed_segments import Stat
from segments.store.on_zookeeper.client import ZooKeeperStore
from segments.store.on_zookeeper.login import ZooKeeperLogin
from segments.store.on_zookeeper.one_shot_watches import OneShotWatches
from segments.store.on_zookeeper.replies import settle
from segments.store.paths import check_path

log = logging.getLogger(__name__)

#: The first ZooKeeper with watches on trees and many reads in one request; older ones end the session of who asks for
#: either.
_NEW: Final = (3, 6)
_VERSION: Final = re.compile(r"Zookeeper version: (\d+)\.(\d+)", re.IGNORECASE)
#: What is still requested of an old one again and again: how many segments tables have, and whether records were
#: written in place.
_PLAN: Final = Plan({paths.SEGMENTS: 1}, overwritten=1)
_TERMS: Final = Terms(idle_s=2.0, quick_s=1.0, share=0.3)
#: Requests that go to an old one before their replies are awaited.
_WINDOW: Final = 500
#: Seconds that an attempt to connect takes at most; pauses between attempts.
_CONNECT_S: Final = 4.0
_PAUSES_S: Final = (1.0, 15.0)


class PinotZooKeeper(ReadOnly):
    """``Store`` of the cluster that ``cluster`` names at ``hosts``, with this ``login``. Opening costs nothing;
    while ZooKeeper is unreachable every use fails at once but for one attempt after each pause."""

    def __init__(
        self,
        hosts: str,
        cluster: Callable[[], str],
        *,
        login: Callable[[], ZooKeeperLogin] = ZooKeeperLogin,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hosts, self._cluster, self._login, self._clock = hosts, cluster, login, clock
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

    def children_many(self, paths: Sequence[str]) -> list[list[str]]:
        return self._session().children_many(paths)

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
            session = _Session(self._hosts, cluster, self._login())
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

    #: Of an old one, from the moment on that its version is known.
    _one_shot: OneShotWatches | None = None

    def __init__(self, hosts: str, cluster: str, login: ZooKeeperLogin) -> None:
        address, _, below = hosts.partition("/")
        root = f"{below}/{cluster}" if below else cluster
        super().__init__(address, root, session_timeout=10.0, connect_timeout=_CONNECT_S, login=login)
        self._is_old = self._version() < _NEW
        self._poller = Poller(f"zookeeper-{cluster}", self._stats, self._current, _PLAN, _TERMS)
        if self._is_old:
            self._one_shot = OneShotWatches(
                f"zookeeper-{cluster}", self._client, (*DOCUMENTS, *DEFINITIONS), self._full
            )

    def require_cluster(self, hosts: str, cluster: str) -> None:
        """Unavailable when there is no such Helix cluster here: an empty mirror would be taken for dropped tables."""
        if self.exists(paths.IDEAL_STATES) is None:
            text = f"ZooKeeper at {hosts} holds no Pinot cluster '{cluster}'."
            raise Unavailable(
                text,
                remedy="Check the address (with its path, as Pinot has it) and the cluster's name.",
                state="wrong-cluster",
            )

    def watch(self, prefix: str, callback: WatchCallback) -> Watch:
        if self._one_shot is None:
            return super().watch(prefix, callback)
        if not paths.covers(prefix, paths.SEGMENTS):
            return self._one_shot.watch(check_path(prefix), callback)
        polled = self._poller.watch(check_path(prefix), callback)
        return Both(polled, self._one_shot.watch(prefix, callback)) if prefix == "/" else polled

    def close(self) -> None:
        self._poller.close()
        super().close()
        if self._one_shot is not None:
            self._one_shot.close()

    def _on_event(self, full: str) -> None:
        if self._one_shot is None:
            super()._on_event(full)
        else:
            self._one_shot.happened(full[len(self._root) :] or "/")

    def _on_state(self, state: str) -> None:
        super()._on_state(state)
        if self._one_shot is not None and state == KazooState.CONNECTED:
            self._one_shot.reconnected()

    def create(self, path: str, record: ZNRecord | None, *, ephemeral: bool = False) -> Versioned:
        raise Forbidden(f"{path} belongs to Pinot and is only read here.")

    def _value(self, path: str, data: bytes | None, stat: Any) -> Versioned:
        """What is not a ZNRecord counts as a znode without data below a table's segments, where one must not hide all
        others.
        """
        try:
            return super()._value(path, data, stat)
        except RecordCorrupt as error:
            if not path.startswith(paths.SEGMENTS + "/"):
                raise
            log.warning("%s: %s", path, error.message)
            return Versioned(None, stat.version, stat.mtime, stat.mzxid, stat.ephemeralOwner)

    def _ask(self, paths: Sequence[str]) -> Any:
        return (
            _OneByOne([self._client.get_async(self._full(path)) for path in paths])
            if self._is_old
            else super()._ask(paths)
        )

    def _stats(self, parent: str) -> dict[str, Stat]:
        names, found = self.children(parent), {}
        for start in range(0, len(names), _WINDOW):
            asked = names[start : start + _WINDOW]
            full = [self._full(f"{parent}/{name}") for name in asked]
            stats = self._read(lambda full=full: settle([self._client.exists_async(path) for path in full]))  # type: ignore[misc]  # the default binds the loop's value
            found.update(
                {
                    name: Stat(s.mzxid, s.pzxid, s.numChildren)
                    for name, s in zip(asked, stats, strict=True)
                    if s is not None
                }
            )
        return found

    def _current(self, path: str) -> ZNRecord | None:
        node = self.get(path)
        return node.record if node else None

    def _version(self) -> tuple[int, ...]:
        try:
            found = _VERSION.search(
                self._login.ask_over_tls(self._client, b"srvr") if self._login.tls else self._client.command(b"srvr")
            )
        except (KazooException, OSError, UnicodeDecodeError) as error:
            log.info("ZooKeeper does not answer 'srvr': %s", error)
            found = None
        if found is None:
            log.info("ZooKeeper does not give its version; it is read as an old one.")
            return (0,)
        return int(found[1]), int(found[2])


class _OneByOne:
    """Requests of an old ZooKeeper's as if they were one; what kazoo gives for one request."""

    def __init__(self, results: Sequence[Any]) -> None:
        self._results = results

    def get(self, timeout: float) -> list[Any]:
        """Their replies, None for what is not there."""
        return settle(self._results, NoNodeError)
