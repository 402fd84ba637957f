"""One store suite, two worlds: in memory, and a real ZooKeeper shared by the whole run, a fresh cluster
for each test.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from kazoo.client import KazooClient

from segments.store.base import Store
from segments.store.memory import MemoryStore, MemoryTree
from segments.store.on_zookeeper.client import ZooKeeperStore
from tests.real_parts import ZooKeeperProcess, start_zookeeper

_numbers = itertools.count(1)


class World(ABC):
    """Clients of one cluster, and what only a test may do to them."""

    def __init__(self, closing: ExitStack) -> None:
        self.closing = closing

    def client(self) -> Store:
        """One more client with its own session; closed after the test."""
        store = self.new_client()
        self.closing.callback(store.close)
        return store

    @abstractmethod
    def new_client(self) -> Store: ...

    @abstractmethod
    def expire(self, store: Store) -> None:
        """Expire the client's session."""

    @abstractmethod
    def put_raw(self, path: str, data: bytes) -> None:
        """Write bytes as a foreign program might."""


class MemoryWorld(World):
    def __init__(self, closing: ExitStack) -> None:
        super().__init__(closing)
        self.tree = MemoryTree()

    def new_client(self) -> Store:
        return MemoryStore(self.tree)

    def expire(self, store: Store) -> None:
        assert isinstance(store, MemoryStore)
        store.expire_session()

    def put_raw(self, path: str, data: bytes) -> None:
        MemoryStore(self.tree).put_raw(path, data)


class ZooKeeperWorld(World):
    def __init__(self, closing: ExitStack, zookeeper: ZooKeeperProcess) -> None:
        super().__init__(closing)
        self.hosts = zookeeper.hosts
        self.cluster = f"cluster{next(_numbers)}"

    def new_client(self) -> Store:
        return ZooKeeperStore(self.hosts, self.cluster)

    def expire(self, store: Store) -> None:
        """Whoever ends a session by its id and password ends it for its owner too."""
        assert isinstance(store, ZooKeeperStore)
        self._run(KazooClient(self.hosts, client_id=store._client.client_id), lambda thief: None)

    def put_raw(self, path: str, data: bytes) -> None:
        self._run(KazooClient(self.hosts), lambda client: client.create(f"/{self.cluster}{path}", data, makepath=True))

    def _run(self, client: KazooClient, act) -> None:
        client.start()
        act(client)
        client.stop()
        client.close()


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    """A ZooKeeper for the whole run: leave it running."""
    process = start_zookeeper(tmp_path_factory.mktemp("zookeeper"))
    yield process
    process.stop()


@pytest.fixture(params=["memory", pytest.param("zookeeper", marks=pytest.mark.integration)])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with ExitStack() as closing:
        if request.param == "memory":
            yield MemoryWorld(closing)
        else:
            yield ZooKeeperWorld(closing, request.getfixturevalue("zookeeper"))


@pytest.fixture
def store(world: World) -> Store:
    return world.client()
