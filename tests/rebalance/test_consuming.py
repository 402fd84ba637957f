"""Consuming segments between real servers: they move only when asked, while rows come and queries run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from segments.clusters.embedded.rebalance.jobs import advance, ask_to_commit
from segments.dataplane.broker import Broker
from segments.domain.realtime.realtime_assignment import in_order, servers_of_partition
from segments.domain.rebalance.job import Status
from segments.domain.rebalance.options import Options
from segments.names import REALTIME, TableName
from segments.store import paths
from tests.dataplane.consuming.pauseless_world import create as create_pauseless
from tests.dataplane.consuming_world import RT, ConsumingWorld, instance
from tests.dataplane.world import poll
from tests.services.embedded_engine import EMBEDDED
from tests.services.world import ANN

TABLE = TableName("r", REALTIME)
#: Where the only partition belongs, and the other server.
NEW = int(servers_of_partition(RT, 0, 1, in_order(RT, [instance(1), instance(2)]))[0].rpartition("_")[2])
OLD = 3 - NEW


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ConsumingWorld]:
    """One partition, consumed by the server that it does not belong to, with 50 rows."""
    made = ConsumingWorld(tmp_path)
    made.start_server(OLD, drop_grace_s=0.5)
    made.create_realtime(servers=(OLD,))
    made.send(50)
    made.start_server(NEW, drop_grace_s=0.5)
    made.exact(OLD)
    yield made
    made.close()


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[ConsumingWorld]:
    """No server, no table."""
    made = ConsumingWorld(tmp_path)
    yield made
    made.close()


@contextmanager
def counted(broker: Broker) -> Iterator[list[int]]:
    """Row counts of queries, one after the other, while the block runs; -1 for one that failed."""
    found: list[int] = []
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.is_set():
            answer = broker.query("select count(*) from r")
            found.append(-1 if answer["exceptions"] else answer["resultTable"]["rows"][0][0])

    thread = threading.Thread(target=ask, name="counting")
    thread.start()
    try:
        yield found
    finally:
        is_over.set()
        thread.join()


def finish(world: ConsumingWorld) -> None:
    """Step after step until the rebalance is over; rows go on coming."""

    def is_over() -> bool:
        ask_to_commit(world.ctx, TABLE)
        job = advance(world.ctx, TABLE)
        if world.sent < 200:
            world.send(5)
        return job is not None and job.status is Status.DONE

    poll(is_over, 30, "the rebalance")


def test_consuming_segments_stay_unless_asked(world: ConsumingWorld) -> None:
    assert EMBEDDED.rebalance.preview(world.ctx, TABLE, Options(), has_checks=False).status is Status.NO_OP


def test_a_consuming_replica_moves_while_rows_come_and_no_query_sees_fewer(world: ConsumingWorld) -> None:
    (segment,) = world.chain()
    broker = world.start_broker()
    poll(lambda: not broker.query("select count(*) from r")["exceptions"], what="the first answer")
    with counted(broker) as seen:
        EMBEDDED.rebalance.start(world.ctx, TABLE, Options(include_consuming=True), ANN)
        finish(world)
        poll(lambda: dict(world.view(segment)) == {instance(NEW): "CONSUMING"}, what="the move")
        world.exact(NEW)
        poll(lambda: bool(seen) and seen[-1] == world.sent, what="all rows in an answer")
    assert seen == sorted(seen)
    assert seen[0] >= 50


def test_with_a_commit_first_what_was_consumed_moves_as_a_file_and_goes_on_where_it_belongs(
    world: ConsumingWorld,
) -> None:
    (segment,) = world.chain()
    EMBEDDED.rebalance.start(world.ctx, TABLE, Options(force_commit=True), ANN)
    finish(world)
    poll(lambda: dict(world.view(segment)) == {instance(NEW): "ONLINE"}, what="the committed segment")
    assert world.chain()[0] == segment
    assert dict(world.view(world.chain()[-1])) == {instance(NEW): "CONSUMING"}
    world.exact(NEW)
    world.chain_is_whole()


@pytest.mark.parametrize(
    "options", [Options(include_consuming=True), Options(force_commit=True)], ids=["move", "commit"]
)
def test_a_pauseless_table_moves_to_the_servers_of_another_tenant(empty: ConsumingWorld, options: Options) -> None:
    world = empty
    for number in (1, 2):
        world.start_server(number, drop_grace_s=0.5)
    create_pauseless(world, servers=(1, 2), rows=40)
    world.send(100)
    poll(lambda: len(world.chain()) == 3, 20, "two commits")
    for number in (1, 2):
        path = paths.participant(instance(number))
        node = world.store.get(path)
        lists = {**node.record.lists, "TAG_LIST": ["other_REALTIME"]}
        world.store.replace(path, replace(node.record, lists=lists), node.version)
    for number in (3, 4):
        world.start_server(number, drop_grace_s=0.5)
    EMBEDDED.rebalance.start(world.ctx, TABLE, options, ANN)
    finish(world)
    there = {instance(3), instance(4)}
    poll(lambda: all(world.view(s).keys() == there for s in world.chain()), 20, "all segments on the new servers")
    for number in (3, 4):
        world.exact(number)
    world.chain_is_whole()
