"""The Store contract in memory, for tests: real versions, sessions, transactions and watches, no process to start."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from segments.domain.formats.znrecord import ZNRecord, decode, encode
from segments.errors import Conflict, InvalidInput, Unavailable
from segments.store.base import Check, Create, Delete, Replace, Versioned, WatchCallback, Write
from segments.store.dispatch import Dispatcher, Subscription
from segments.store.paths import check_path, parent_of


@dataclass(frozen=True)
class _Node:
    data: bytes
    version: int
    modified_ms: int
    mzxid: int
    owner: int = 0


class MemoryTree:
    """The znodes that several ``MemoryStore`` clients share, as clients share one ZooKeeper."""

    def __init__(self, clock: Callable[[], int] = lambda: int(time.time() * 1000)) -> None:
        self.lock = threading.RLock()
        self.nodes: dict[str, _Node] = {"/": _Node(b"", 0, clock(), 0)}
        self.kids: dict[str, set[str]] = {"/": set()}
        #: pzxid: the transaction in which children came or went last.
        self.kids_changed: dict[str, int] = {}
        self.clients: list[MemoryStore] = []
        self._clock = clock
        self._zxid = 0
        self._sessions = 0x10000000000
        self._undo: list[tuple[str, _Node | None]] = []
        self._events: list[str] = []

    def new_session(self) -> int:
        """A session number nobody had."""
        with self.lock:
            self._sessions += 1
            return self._sessions

    @contextmanager
    def atomic(self) -> Iterator[None]:
        """All changes inside get one zxid and are published at the end, or are undone when the block raises."""
        with self.lock:
            self._zxid += 1
            self._undo, self._events = [], []
            try:
                yield
            except BaseException:
                for path, node in reversed(self._undo):
                    self._put(path, node)
                raise
            for path in self._events:
                for client in self.clients:
                    client.dispatcher.publish(path)

    def set(self, path: str, data: bytes, version: int, owner: int = 0) -> _Node:
        """Put a znode (inside ``atomic``)."""
        node = _Node(data, version, self._clock(), self._zxid, owner)
        self._change(path, node)
        return node

    def drop(self, path: str) -> None:
        """Remove a znode (inside ``atomic``)."""
        self._change(path, None)

    def _change(self, path: str, node: _Node | None) -> None:
        self._undo.append((path, self.nodes.get(path)))
        self._events.append(path)
        self._put(path, node)

    def _put(self, path: str, node: _Node | None) -> None:
        if (path in self.nodes) != (node is not None):
            self.kids_changed[parent_of(path)] = self._zxid
        if node is None:
            self.nodes.pop(path, None)
            self.kids.pop(path, None)
            self.kids[parent_of(path)].discard(path.rpartition("/")[2])
        else:
            self.nodes[path] = node
            self.kids.setdefault(path, set())
            if path != "/":
                self.kids[parent_of(path)].add(path.rpartition("/")[2])


class MemoryStore:
    """One client of a ``MemoryTree`` with a session of its own; passes ``tests/contract/test_store.py``."""

    def __init__(self, tree: MemoryTree | None = None) -> None:
        self.tree = tree or MemoryTree()
        self.dispatcher = Dispatcher("memory-store-watches")
        self._session = self.tree.new_session()
        self._on_session: list[Callable[[], None]] = []
        self._closed = False
        with self.tree.lock:
            self.tree.clients.append(self)

    def another_client(self) -> MemoryStore:
        """A second client, with its own session, on the same znodes."""
        return MemoryStore(self.tree)

    # Reads

    def get(self, path: str) -> Versioned | None:
        with self._open():
            node = self.tree.nodes.get(check_path(path))
        return None if node is None else _versioned(node)

    def get_many(self, paths: Sequence[str]) -> list[Versioned | None]:
        return [self.get(path) for path in paths]

    def children(self, path: str) -> list[str]:
        with self._open():
            return sorted(self.tree.kids.get(check_path(path), ()))

    def children_many(self, paths: Sequence[str]) -> list[list[str]]:
        return [self.children(path) for path in paths]

    def exists(self, path: str) -> int | None:
        with self._open():
            node = self.tree.nodes.get(check_path(path))
        return None if node is None else node.version

    # Writes

    def create(self, path: str, record: ZNRecord | None, *, ephemeral: bool = False) -> Versioned:
        with self._open(), self.tree.atomic():
            return _versioned(self._create(path, record, self._session if ephemeral else 0))

    def replace(self, path: str, record: ZNRecord, version: int) -> Versioned:
        with self._open(), self.tree.atomic():
            return _versioned(self._replace(path, record, version))

    def delete(self, path: str, version: int | None = None) -> bool:
        with self._open(), self.tree.atomic():
            if check_path(path) not in self.tree.nodes:
                return False
            self._delete(path, version)
            return True

    def delete_tree(self, path: str) -> None:
        with self._open(), self.tree.atomic():
            self._delete_tree(check_path(path))

    def transaction(self, writes: Sequence[Write]) -> None:
        with self._open(), self.tree.atomic():
            for write in writes:
                self._apply(write)

    # Watches and the session

    def watch(self, prefix: str, callback: WatchCallback) -> Subscription:
        with self._open():
            subscription = self.dispatcher.subscribe(check_path(prefix), callback)
            self.dispatcher.doubt(subscription)
        return subscription

    def session_id(self) -> str:
        return format(self._session, "x")

    def on_session(self, callback: Callable[[], None]) -> None:
        self._on_session.append(callback)

    def close(self) -> None:
        with self.tree.lock:
            if self._closed:
                return
            self._drop_ephemerals()
            self._closed = True
            self.tree.clients.remove(self)
        self.dispatcher.close()

    # For tests only

    def expire_session(self) -> None:
        """Lose the session as ZooKeeper would expire it: ephemeral nodes go, watches get None, ``on_session`` is
        called.
        """
        with self.tree.lock:
            self._drop_ephemerals()
            self._session = self.tree.new_session()
        self.dispatcher.publish_doubt()
        threading.Thread(target=self._call_on_session, name="memory-store-session", daemon=True).start()

    def put_raw(self, path: str, data: bytes) -> None:
        """Write bytes as a foreign program might: unconditional, possibly no record at all."""
        with self.tree.atomic():
            self._make_parents(path)
            old = self.tree.nodes.get(path)
            self.tree.set(path, data, 0 if old is None else old.version + 1)

    def _call_on_session(self) -> None:
        for callback in list(self._on_session):
            callback()

    @contextmanager
    def _open(self) -> Iterator[None]:
        with self.tree.lock:
            if self._closed:
                raise Unavailable("This connection to ZooKeeper is closed.", remedy="Open a new store.")
            yield

    def _apply(self, write: Write) -> None:
        match write:
            case Create(path, record):
                self._create(path, record, 0)
            case Replace(path, record, version):
                self._replace(path, record, version)
            case Delete(path, version):
                self._delete(path, version)
            case Check(path, version):
                self._at_version(path, version)

    def _create(self, path: str, record: ZNRecord | None, owner: int) -> _Node:
        data = b"" if record is None else encode(record)
        if check_path(path) in self.tree.nodes:
            raise Conflict(f"{path} exists already.", path=path)
        self._make_parents(path)
        return self.tree.set(path, data, 0, owner)

    def _make_parents(self, path: str) -> None:
        parent = parent_of(path)
        node = self.tree.nodes.get(parent)
        if node is None:
            self._make_parents(parent)
            self.tree.set(parent, b"", 0)
        elif node.owner:
            raise InvalidInput(f"{parent} is ephemeral and cannot have {path} below it.")

    def _replace(self, path: str, record: ZNRecord, version: int) -> _Node:
        data = encode(record)
        old = self._at_version(path, version)
        return self.tree.set(path, data, version + 1, old.owner)

    def _delete(self, path: str, version: int | None) -> None:
        self._at_version(path, version)
        if self.tree.kids[path]:
            raise Conflict(f"{path} has children.", path=path)
        self.tree.drop(path)

    def _delete_tree(self, path: str) -> None:
        if path in self.tree.nodes:
            for name in sorted(self.tree.kids[path]):
                self._delete_tree(f"{path.rstrip('/')}/{name}")
            self.tree.drop(path)

    def _at_version(self, path: str, version: int | None) -> _Node:
        if version is not None and version < 0:
            raise InvalidInput(f"Version {version} of {path} names no read.", remedy="Give the version that was read.")
        node = self.tree.nodes.get(check_path(path))
        if node is None:
            raise Conflict(f"{path} does not exist.", path=path)
        if version is not None and node.version != version:
            raise Conflict(f"{path} has version {node.version}, not {version}.", path=path)
        return node

    def _drop_ephemerals(self) -> None:
        with self.tree.atomic():
            for path in [p for p, node in self.tree.nodes.items() if node.owner == self._session]:
                self.tree.drop(path)


def _versioned(node: _Node) -> Versioned:
    return Versioned(decode(node.data), node.version, node.modified_ms, node.mzxid, node.owner)
