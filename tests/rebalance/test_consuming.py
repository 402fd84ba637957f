"""Consuming segments between real servers: they move only when asked, while rows come and queries run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from segments.clusters.embedded.rebalance.jobs import advance, ask_to_commit
from segments.dataplane.broker import Broker
from segments.domain.realtime.realtime_assignment import in_order, servers_of_partition
from segments.domain.rebalance.job import Status
from segments.domain.rebalance.options import Options
from segments.names import REALTIME, TableName
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
