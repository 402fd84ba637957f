"""A replica that lags behind what a query has shown: it does not answer while another one has those rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segments.dataplane.broker import Broker
from segments.domain.realtime.completion import Kind
from segments.domain.realtime.streams.stream_config import StreamConfig
from segments.domain.realtime.streams.stream_offset import Offset
from segments.gateways.controller_protocol import Answer, Report
from segments.gateways.servers import HttpServers
from segments.gateways.streams.base import Batch
from segments.gateways.streams.memory import MemoryConsumer, MemoryStream
from segments.names import TableName
from segments.services.core.context import Actor
from segments.services.realtime import consumption
from tests.dataplane.consuming_world import RT, ConsumingWorld, instance, rows_of
from tests.dataplane.world import poll

TABLE, ANN = TableName("r", "REALTIME"), Actor("ann")
SEEN = "select count(*), distinctcount(id) from r"


class LateConsumer(MemoryConsumer):
    """Its stream has nothing new for it, as after an outage that one server got over later than the other."""

    def fetch(self, start: Offset, *, max_messages: int, timeout_s: float, stop: Offset | None = None) -> Batch:
        """What another replica committed can be read."""
        if stop is not None:
            return super().fetch(start, max_messages=max_messages, timeout_s=timeout_s, stop=stop)
        threading.Event().wait(0.02)
        return Batch([], start, ())  # type: ignore[arg-type]


class LateStream(MemoryStream):
    """One whose consumers are late."""

    def consumer(self, partition: int, *, is_brief: bool = False) -> MemoryConsumer:
        """See :class:`segments.gateways.streams.base.Stream`."""
        return LateConsumer(self._broker, self._topic, partition, self)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ConsumingWorld]:
    """An empty cluster."""
    made = ConsumingWorld(tmp_path)
    yield made
    made.close()


def busy(broker: Broker, world: ConsumingWorld, number: int) -> None:
    """The server did not answer a moment ago, though it lives."""
    for server in broker.routing(RT).replicas[world.chain()[0]]:  # type: ignore[union-attr]
        mark = broker.health.mark_down if server.instance == instance(number) else broker.health.mark_up
        mark(server)


def paused_behind_a_commit(world: ConsumingWorld) -> Broker:
    """350 rows are seen, 250 of them behind the end of a segment that is being committed; then the table is paused,
    and that commit ends. Server 2 got over an outage of the stream later than server 1: it has the committed rows only.
    """
    ends = threading.Event()

    def hold_the_end(kind: Kind, _: Report) -> Answer | None:
        if kind is Kind.COMMIT_END:
            ends.wait(20)
        return None

    world.controller.before = hold_the_end
    world.create_realtime(rows=100, servers=(1, 2))
    world.start_server(1)
    opens = world.stream.open

    def opens_late(config: StreamConfig, defaults: Any = None) -> MemoryStream:
        return LateStream(world.stream, config.topic, config.type)

    world.stream.open = opens_late  # type: ignore[method-assign]
    world.start_server(2)
    world.stream.open = opens  # type: ignore[method-assign]
    broker = world.start_broker()
    poll(lambda: len(broker.routing(RT).replicas[world.chain()[0]]) == 2, what="routing")  # type: ignore[union-attr]
    busy(broker, world, 2)
    assert rows_of(broker, SEEN) == [[0, 0]], "queries stay with the server that they are asked of first"
    world.send(350)
    poll(lambda: rows_of(broker, SEEN) == [[350, 350]], what="rows behind a commit that waits")
    consumption.pause_table(world.ctx, TABLE, actor=ANN)
    ends.set()
    poll(lambda: sum(world.rows_of(2).values()) == 100, what="the committed rows on the late replica")
    world.settled()
    assert len(world.chain()) == 1, "a paused table begins no segment"
    return broker


@pytest.mark.django_db
def test_rows_seen_behind_a_commit_stay_while_the_table_is_paused_though_another_replica_is_asked(
    world: ConsumingWorld,
) -> None:
    broker = paused_behind_a_commit(world)
    busy(broker, world, 1)
    assert [rows_of(broker, SEEN) for _ in range(5)] == [[[350, 350]]] * 5
    consumption.resume_table(world.ctx, TABLE, actor=ANN)
    poll(lambda: len(world.chain()) == 4, what="segments of the rows that were read ahead")
    assert rows_of(broker, SEEN) == [[350, 350]]
    world.exact(1)
    world.chain_is_whole()


@pytest.mark.django_db
def test_a_replica_that_does_not_answer_is_not_waited_for_though_it_had_more(
    world: ConsumingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = paused_behind_a_commit(world)
    busy(broker, world, 1)
    monkeypatch.setattr(HttpServers, "is_alive", lambda *_: False)
    asked = world.servers[1].runner.queries
    assert rows_of(broker, SEEN) == [[100, 100]]
    assert world.servers[1].runner.queries == asked


@pytest.mark.django_db
def test_what_is_left_answers_once_the_replica_that_had_more_is_gone_and_a_resume_brings_the_rows_back(
    world: ConsumingWorld,
) -> None:
    broker = paused_behind_a_commit(world)
    world.servers[1].stop()
    poll(lambda: rows_of(broker, SEEN) == [[100, 100]], what="the rows of the replica that is left")
    world.start_server(1)
    consumption.resume_table(world.ctx, TABLE, actor=ANN)
    world.exact(1)
    world.chain_is_whole()
