"""Partitions of upsert and dedup tables move between real servers while rows come and queries run."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from segments.clusters.embedded.rebalance.jobs import advance, ask_to_commit
from segments.dataplane.broker import Broker
from segments.domain.realtime.realtime_assignment import in_order, servers_of_partition
from segments.domain.rebalance.job import Status
from segments.domain.rebalance.options import Options
from segments.names import REALTIME, TableName
from segments.services.rebalance.job_records import read_jobs
from segments.store import paths
from tests.dataplane.consuming.keyed.keyed_world import KeyedWorld
from tests.dataplane.consuming_world import RT, instance, rows_of
from tests.dataplane.world import poll
from tests.services.embedded_engine import EMBEDDED
from tests.services.world import ANN

TABLE = TableName("r", REALTIME)
KEYS = 12
FULL = {"upsertConfig": {"mode": "FULL"}}
PARTIAL = {
    "upsertConfig": {"mode": "PARTIAL", "partialUpsertStrategies": {"n": "INCREMENT"}},
    "tableIndexConfig": {"nullHandlingEnabled": True},
}
DEDUP = {"dedupConfig": {"dedupEnabled": True}}
PEERS = {"peerSegmentDownloadScheme": "http"}
#: Where the only partition belongs, and the other server.
NEW = int(servers_of_partition(RT, 0, 1, in_order(RT, [instance(1), instance(2)]))[0].rpartition("_")[2])
OLD = 3 - NEW


@pytest.fixture
def world(tmp_path: Path) -> Iterator[KeyedWorld]:
    """An empty cluster."""
    made = KeyedWorld(tmp_path)
    yield made
    made.close()


class Clients:
    """Send rounds of rows, each key once in each, and keep the model: what every key shows after each round."""

    def __init__(self, world: KeyedWorld, broker: Broker, config: dict[str, Any]) -> None:
        self.world, self.broker, self.config = world, broker, config
        self.rounds, self.pick = 0, random.Random(11)

    @property
    def shown(self) -> list[list[Any]]:
        """The model: ``n`` of each key is the number of the last round, of their sum, or of the first."""
        rounds = self.rounds - 1
        n = {id(FULL): rounds, id(PARTIAL): rounds * (rounds + 1) // 2, id(DEDUP): 0}[id(self.config)]
        return [[key, n] for key in sorted(f"k{i}" for i in range(KEYS))]

    def send(self) -> None:
        """One round, in another order."""
        keys = [f"k{i}" for i in range(KEYS)]
        self.pick.shuffle(keys)
        self.world.put(*((key, self.rounds, self.rounds, False) for key in keys))
        self.rounds += 1

    def see(self, seconds: float = 20.0) -> None:
        """Wait until queries see the model."""
        sql = "select id, n from r order by id limit 1000"
        poll(lambda: rows_of(self.broker, sql) == self.shown, seconds, f"round {self.rounds}")

    @contextmanager
    def watch(self) -> Iterator[list[Any]]:
        """Queries, one after the other, while the block runs: errors and keys that are missing or twice, collected."""
        wrong: list[Any] = []
        is_over = threading.Event()

        def ask() -> None:
            while not is_over.is_set():
                answer = self.broker.query("select count(*), distinctcount(id) from r where ts > 0")
                if answer["exceptions"]:
                    wrong.append(answer["exceptions"])
                elif (rows := answer["resultTable"]["rows"]) != [[KEYS, KEYS]]:
                    wrong.append(rows)

        thread = threading.Thread(target=ask, name="watching")
        thread.start()
        try:
            yield wrong
        finally:
            is_over.set()
            thread.join()


def finish(world: KeyedWorld, clients: Clients, rounds: int) -> None:
    """Step after step until the rebalance is over; so many rounds of rows come meanwhile."""
    left = [rounds]

    def is_over() -> bool:
        ask_to_commit(world.ctx, TABLE)
        job = advance(world.ctx, TABLE)
        if left[0]:
            left[0] -= 1
            clients.send()
        return job is not None and not job.is_open

    poll(is_over, 60, "the rebalance")
    job = read_jobs(world.ctx, TABLE).newest
    assert job is not None
    assert job.status is Status.DONE, job.message


@pytest.mark.parametrize("is_pauseless", [False, True])
@pytest.mark.parametrize("config", [FULL, PARTIAL, DEDUP], ids=["full", "partial", "dedup"])
def test_a_partition_moves_with_what_it_consumes_and_every_query_sees_one_row_of_each_key(
    world: KeyedWorld, config: dict[str, Any], is_pauseless: bool
) -> None:
    world.create_keyed(config, rows=30, servers=(OLD,), is_pauseless=is_pauseless, segments=PEERS)
    world.start_server(OLD, drop_grace_s=0.5)
    clients = Clients(world, world.start_broker(), config)
    for _ in range(10):
        clients.send()
    clients.see()
    world.start_server(NEW, drop_grace_s=0.5)
    with clients.watch() as wrong:
        EMBEDDED.rebalance.start(world.ctx, TABLE, Options(), ANN)
        finish(world, clients, rounds=12)
        clients.see()
        world.settled()
        clients.send()
        clients.see()
    assert wrong == []
    ideal = world.store.get(paths.ideal_state(RT)).record.maps
    assert {i for row in ideal.values() for i in row} == {instance(NEW)}
    world.chain_is_whole()
    world.servers[OLD].stop()
    clients.send()
    clients.see()


def test_a_stop_in_the_middle_leaves_the_partition_where_it_was(world: KeyedWorld) -> None:
    world.create_keyed(FULL, rows=30, servers=(OLD,))
    world.start_server(OLD, drop_grace_s=0.5)
    clients = Clients(world, world.start_broker(), FULL)
    for _ in range(6):
        clients.send()
    clients.see()
    world.start_server(NEW, drop_grace_s=0.5)
    with clients.watch() as wrong:
        EMBEDDED.rebalance.start(world.ctx, TABLE, Options(), ANN)
        advance(world.ctx, TABLE)
        rows = world.store.get(paths.ideal_state(RT)).record.maps.values()
        assert all(set(row) == {instance(OLD), instance(NEW)} for row in rows)
        clients.send()
        clients.see()
        EMBEDDED.rebalance.stop(world.ctx, TABLE, ANN)
        clients.send()
        clients.see()
        world.settled()
    assert wrong == []
    sides = {frozenset(row) for row in world.store.get(paths.ideal_state(RT)).record.maps.values()}
    assert len(sides) == 1
    assert len(next(iter(sides))) == 1


def moving(world: KeyedWorld, keys: dict[str, Any], *, sends: int) -> Clients:
    """After so many sendings, the partition is on its way from the old server to the new one."""
    world.create_keyed(keys, rows=30, servers=(OLD,))
    world.start_server(OLD, drop_grace_s=0.5)
    clients = Clients(world, world.start_broker(), keys)
    for _ in range(sends):
        clients.send()
    clients.see()
    world.start_server(NEW, drop_grace_s=0.5)
    EMBEDDED.rebalance.start(world.ctx, TABLE, Options(), ANN)
    advance(world.ctx, TABLE)
    return clients


def test_a_new_server_that_dies_on_the_way_and_comes_back_ends_the_move(world: KeyedWorld) -> None:
    clients = moving(world, PARTIAL, sends=6)
    with clients.watch() as wrong:
        world.servers[NEW].stop()
        clients.send()
        clients.see()
    assert wrong == []
    world.start_server(NEW, drop_grace_s=0.5)
    finish(world, clients, rounds=3)
    clients.see()


def test_a_new_server_that_dies_while_segments_end_by_their_row_limit_ends_the_move(world: KeyedWorld) -> None:
    """Until it is back nothing is asked to commit: the partition fills segments with the new server and without it."""
    clients = moving(world, FULL, sends=3)
    before = set(world.store.get(paths.ideal_state(RT)).record.maps)
    with clients.watch() as wrong:
        for _ in range(4):
            clients.send()
        clients.see()
        world.servers[NEW].stop()
        for _ in range(4):
            clients.send()
        clients.see()
    assert wrong == []
    assert len(set(world.store.get(paths.ideal_state(RT)).record.maps) - before) >= 2
    world.start_server(NEW, drop_grace_s=0.5)
    finish(world, clients, rounds=3)
    clients.see()
    world.chain_is_whole()
