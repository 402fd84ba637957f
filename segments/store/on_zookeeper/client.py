"""The Store on a real ZooKeeper: every outcome of a write has its type, nothing is retried behind the
caller's back.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import (
    KazooException,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistency,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState
from kazoo.retry import KazooRetry

from segments.domain.formats.znrecord import ZNRecord, encode
from segments.errors import Conflict, InvalidInput, OutcomeUnknown, Unavailable
from segments.store.base import Check, Create, Delete, Replace, Versioned, Watch, WatchCallback, Write
from segments.store.dispatch import Dispatcher, Subscription
from segments.store.on_zookeeper.bulk_read import DecodedRecords, MultiRead
from segments.store.on_zookeeper.closed_tree import close_tree
from segments.store.on_zookeeper.connection import report_events
from segments.store.on_zookeeper.login import SASL, ZooKeeperLogin
from segments.store.on_zookeeper.quick_select import QuickHandler
from segments.store.on_zookeeper.recursive_watch import AddWatch, RemoveWatches, submit
from segments.store.on_zookeeper.replies import LOST, known, refusal, settle, to_bytes, versioned
from segments.store.paths import check_path, parent_of

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Reads that go as one request; deletes that are sent before the first reply is awaited.
_TOGETHER = 500
#: Requests of one long read that are under way at once.
_AHEAD: Final = 3
#: Seconds that a call waits for the connection when it has been lost for long.
_LAST_CHECK_S: Final = 0.2


class ZooKeeperStore:
    """One session with ``hosts`` (``a:2181,b:2181``), seeing only the znodes of ``/<cluster>``. Safe to share between
    threads, not between processes: open one after a fork.

    ``session_timeout`` (seconds) is how long ephemeral nodes outlive a dead process. A call waits for a lost connection
    to come back until it has been lost for ``connect_timeout`` (seconds), then raises Unavailable; so does the
    constructor. ``request_limit`` (bytes) is the server's ``jute.maxbuffer`` less some room: a larger transaction would
    only cut the connection, again and again. With a ``login`` every znode that is created is for that login alone, but
    the few that Pinot's clients read.
    """

    def __init__(
        self,
        hosts: str,
        cluster: str,
        *,
        session_timeout: float = 10.0,
        connect_timeout: float = 15.0,
        request_limit: int = 1_040_000,
        login: ZooKeeperLogin = ZooKeeperLogin(),  # noqa: B008 - a frozen value
    ) -> None:
        self._root = check_path(f"/{cluster}")
        self._patience = connect_timeout
        self._login = login
        self._request_limit = request_limit
        self._decoded = DecodedRecords()
        self._dispatcher = Dispatcher(f"store-watches-{cluster}")
        self._on_session: list[Callable[[], None]] = []
        self._session = 0
        self._connected = threading.Event()
        self._lost_at = time.monotonic()
        self._is_closed = False
        # Who watches, and what is asked of the server, change in the same order. Never held while waiting for a reply.
        self._watch_lock = threading.Lock()
        self._client = KazooClient(
            hosts=hosts,
            timeout=session_timeout,
            handler=QuickHandler(),
            connection_retry=KazooRetry(max_tries=-1, delay=0.05, backoff=1.5, max_delay=1.0),
            **login.client_options(),
        )
        report_events(self._client, self._on_event, login.sasl_options())
        self._client.add_listener(self._on_state)
        self._connect(hosts)

    def _connect(self, hosts: str) -> None:
        try:
            self._client.start(timeout=self._patience)
            if self._login.scheme == SASL:
                self._client.exists("/")  # kazoo counts itself as connected before the server has answered the login
        except (KazooTimeoutError, KazooException) as error:
            self._client.stop()
            self._client.close()
            self._dispatcher.close()
            raise self._login.explain(hosts, self._patience) from error

    # Reads: repeated on a lost connection until the patience is over

    def get(self, path: str) -> Versioned | None:
        return self.get_many([path])[0]

    def get_many(self, paths: Sequence[str]) -> list[Versioned | None]:
        parts = [paths[start : start + _TOGETHER] for start in range(0, len(paths), _TOGETHER)]
        if len(parts) > 1:
            return self._get_ahead(parts)
        ask = self._get_together if len(paths) > 1 else self._get_one
        return self._decode(paths, self._read(partial(ask, paths))) if paths else []

    def _get_ahead(self, parts: Sequence[Sequence[str]]) -> list[Versioned | None]:
        """ZooKeeper answers the next requests while a reply is decoded."""
        sent = [self._ask(part) for part in parts[:_AHEAD]]
        found: list[Versioned | None] = []
        for number, part in enumerate(parts):
            first = [sent[number]]
            replies = self._read(partial(self._first_or_again, first, part))
            sent += [self._ask(later) for later in parts[len(sent) : len(sent) + 1]]
            found.extend(self._decode(part, replies))
        return found

    def _first_or_again(self, first: list[Any], paths: Sequence[str]) -> list[Any]:
        """The replies to a request: the first time to the one in ``first``, which is under way already."""
        return list(settle([first.pop() if first else self._ask(paths)])[0])

    def _ask(self, paths: Sequence[str]) -> Any:
        return submit(self._client, MultiRead([self._full(path) for path in paths]))

    def _decode(self, paths: Sequence[str], replies: Sequence[Any]) -> list[Versioned | None]:
        return [None if r is None else self._value(p, *r) for p, r in zip(paths, replies, strict=True)]

    def children(self, path: str) -> list[str]:
        return self.children_many([path])[0]

    def children_many(self, paths: Sequence[str]) -> list[list[str]]:
        full = [self._full(path) for path in paths]
        found = self._read(lambda: settle([self._client.get_children_async(one) for one in full], NoNodeError))
        return [sorted(names or ()) for names in found]

    def exists(self, path: str) -> int | None:
        full = self._full(path)
        (stat,) = self._read(lambda: settle([self._client.exists_async(full)], NoNodeError))
        return None if stat is None else int(stat.version)

    def _value(self, path: str, data: bytes | None, stat: Any) -> Versioned:
        return self._decoded.versioned(path, data or b"", stat)  # Helix makes parents without any data

    def _get_one(self, paths: Sequence[str]) -> list[Any]:
        return settle([self._client.get_async(self._full(paths[0]))], NoNodeError)

    def _get_together(self, paths: Sequence[str]) -> list[Any]:
        (found,) = settle([self._ask(paths)])
        return list(found)

    # Writes: sent once

    def create(self, path: str, record: ZNRecord | None, *, ephemeral: bool = False) -> Versioned:
        full, data = self._full(path), to_bytes(record)
        for has_parents in (False, True):
            try:
                with self._writing(path):
                    _, stat = self._wait(
                        self._client.create_async(
                            full, data, acl=self._login.acl(path), ephemeral=ephemeral, include_data=True
                        )
                    )
                    return versioned(data, stat)
            except NoNodeError as error:
                if has_parents:
                    raise Conflict(f"The parent of {path} was removed meanwhile.", path=path) from error
                self._make_parents(path)
        raise AssertionError("the second try returns or raises")

    def replace(self, path: str, record: ZNRecord, version: int) -> Versioned:
        data = encode(record)
        try:
            with self._writing(path):
                stat = self._wait(self._client.set_async(self._full(path), data, version=known(path, version)))
        except NoNodeError as error:
            raise Conflict(f"{path} does not exist.", path=path) from error
        return versioned(data, stat)

    def delete(self, path: str, version: int | None = None) -> bool:
        try:
            with self._writing(path):
                self._wait(
                    self._client.delete_async(self._full(path), version=-1 if version is None else known(path, version))
                )
        except NoNodeError:
            return False
        return True

    def delete_tree(self, path: str) -> None:
        while self.exists(path) is not None:
            doomed, level = [path], [path]
            while level:
                level = [f"{node.rstrip('/')}/{name}" for node in level for name in self.children(node)]
                doomed.extend(level)
            with self._writing(path):
                full = [self._full(node) for node in reversed(doomed)]
                for start in range(0, len(full), _TOGETHER):
                    # What appeared meanwhile keeps its parents; the next round takes it.
                    settle(
                        [self._client.delete_async(node) for node in full[start : start + _TOGETHER]],
                        NoNodeError,
                        NotEmptyError,
                    )

    def transaction(self, writes: Sequence[Write]) -> None:
        if not writes:
            return
        data = [to_bytes(write.record) if isinstance(write, Create | Replace) else b"" for write in writes]
        size = sum(len(one) + len(write.path) + 100 for one, write in zip(data, writes, strict=True))
        if size > self._request_limit:
            raise InvalidInput(
                f"A transaction of {len(writes)} writes takes {size} bytes, more than {self._request_limit}.",
                remedy="Change fewer records at once, or raise jute.maxbuffer on ZooKeeper and the store's "
                "request_limit.",
            )
        made: set[str] = set()
        while (orphan := self._commit(writes, data)) is not None:
            if orphan in made:
                raise Conflict(f"The parent of {orphan} was removed meanwhile.", path=orphan)
            made.add(orphan)
            self._make_parents(orphan)

    def _commit(self, writes: Sequence[Write], data: Sequence[bytes]) -> str | None:
        """Send it once. None when it landed, the path of a Create that lacks its parent, else Conflict."""
        request = self._client.transaction()
        for write, one in zip(writes, data, strict=True):
            full = self._full(write.path)
            match write:
                case Create():
                    request.create(full, one, acl=self._login.acl(write.path))
                case Replace(path, _, version):
                    request.set_data(full, one, version=known(path, version))
                case Delete(path, version):
                    request.delete(full, version=-1 if version is None else known(path, version))
                case Check(path, version):
                    request.check(full, known(path, version))
        with self._writing(writes[0].path):
            results = self._wait(request.commit_async())
        for write, result in zip(writes, results, strict=True):
            if isinstance(result, NoNodeError) and isinstance(write, Create):
                return write.path
            if isinstance(result, Exception) and not isinstance(result, RolledBackError | RuntimeInconsistency):
                raise refusal(write.path, result) from result
        return None

    # Watches and the session

    def watch(self, prefix: str, callback: WatchCallback) -> Watch:
        full = self._full(prefix)
        if self._is_closed:
            self._require_connection()
        with self._watch_lock:
            subscription = self._dispatcher.subscribe(check_path(prefix), callback, self._on_watch_closed)
            added = submit(self._client, AddWatch(full))
        try:
            self._wait(added)
        except LOST:
            log.info("The watch on %s begins when ZooKeeper is back.", prefix)  # _on_state adds it then
            return subscription
        except KazooException as error:
            subscription.close()
            raise Unavailable(
                f"ZooKeeper refused to watch {prefix}: {type(error).__name__}.",
                remedy="ZooKeeper 3.6 or newer is needed.",
            ) from error
        self._dispatcher.doubt(subscription)
        return subscription

    def session_id(self) -> str:
        if not self._session:
            raise Unavailable("There is no session with ZooKeeper yet.")
        return format(self._session & (2**64 - 1), "x")

    def on_session(self, callback: Callable[[], None]) -> None:
        self._on_session.append(callback)

    def close_to_strangers(self) -> None:
        """Close what was made without this login (once; see ``close_tree``). Nothing without a login."""
        close_tree(self._client, self._root, self._login)

    def close(self) -> None:
        self._is_closed = True
        self._client.remove_listener(self._on_state)
        self._client.stop()
        self._client.close()
        self._dispatcher.close()

    def _on_event(self, full: str) -> None:
        self._dispatcher.publish(full[len(self._root) :] or "/")

    def _on_state(self, state: str) -> None:
        """On kazoo's connection thread: it must not wait for any reply."""
        if state != KazooState.CONNECTED:
            if self._connected.is_set():
                self._lost_at = time.monotonic()
            self._connected.clear()
            return
        before, self._session = self._session, self._client.client_id[0]
        if before != self._session:
            self._decoded = DecodedRecords()  # of a ZooKeeper that was restored: it counts transactions again
        # Before anything else is sent, so that what is read from now on is watched.
        with self._watch_lock:
            for prefix in self._dispatcher.prefixes():
                submit(self._client, AddWatch(self._full(prefix))).rawlink(partial(self._on_watch_added, prefix))
        self._connected.set()
        if before and before != self._session:
            threading.Thread(target=self._call_on_session, name="store-new-session", daemon=True).start()

    def _on_watch_added(self, prefix: str, result: Any) -> None:
        if result.successful():
            self._dispatcher.publish_doubt(prefix)

    def _on_watch_closed(self, subscription: Subscription) -> None:
        with self._watch_lock:
            if subscription.prefix not in self._dispatcher.prefixes() and self._client.connected:
                submit(self._client, RemoveWatches(self._full(subscription.prefix)))

    def _call_on_session(self) -> None:
        for callback in list(self._on_session):
            try:
                callback()
            except Exception:
                log.exception("A callback for the new ZooKeeper session failed")

    # How calls meet the connection

    def _full(self, path: str) -> str:
        return self._root if path == "/" else self._root + check_path(path)

    def _require_connection(self) -> None:
        if self._is_closed:
            raise Unavailable("This connection to ZooKeeper is closed.", remedy="Open a new store.")
        if self._connected.is_set():
            return
        # Callers that come late in a long outage fail at once.
        left = self._patience - (time.monotonic() - self._lost_at)
        if not self._connected.wait(max(left, _LAST_CHECK_S)):
            text = f"ZooKeeper did not answer for {time.monotonic() - self._lost_at:.1f} s."
            raise Unavailable(text, remedy="Check that it runs; then try again.")

    def _wait(self, result: Any) -> Any:
        return result.get(timeout=self._patience)

    def _read(self, ask: Callable[[], T]) -> T:
        deadline = time.monotonic() + self._patience
        while True:
            self._require_connection()
            try:
                return ask()
            except LOST as error:
                if time.monotonic() >= deadline:
                    text = "ZooKeeper lost the connection again and again."
                    raise Unavailable(text, remedy="Check its log.") from error
                self._connected.wait(0.05)
            except NoAuthError as error:
                text = "ZooKeeper does not let us read: it asks for a login, or for another one."
                remedy = "Give user and password of a digest login that may read the whole cluster."
                raise Unavailable(text, remedy=remedy) from error
            except KazooException as error:
                text = f"ZooKeeper refused to read: {type(error).__name__}."
                raise Unavailable(text, remedy="See ZooKeeper's log.") from error

    @contextmanager
    def _writing(self, path: str) -> Iterator[None]:
        """Map what kazoo raises at a write. NoNodeError passes: its meaning depends on the write."""
        self._require_connection()
        try:
            yield
        except LOST as error:
            raise OutcomeUnknown(
                f"The connection to ZooKeeper was lost while writing {path}.",
                remedy="Check what is there before trying again.",
            ) from error
        except NoNodeError:
            raise
        except KazooException as error:
            raise refusal(path, error) from error

    def _make_parents(self, path: str) -> None:
        missing = []
        node = self._full(path)
        while (node := parent_of(node)) != "/":
            missing.append(node)
        with self._writing(path):
            settle([self._client.create_async(one, b"") for one in reversed(missing)], NodeExistsError)
