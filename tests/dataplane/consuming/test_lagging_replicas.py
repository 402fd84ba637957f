"""A replica that lags behind what a query has shown does not answer while another one has those rows, and a pause
keeps them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from segments.dataplane.broker import Broker
from segments.domain.realtime.completion import Kind
from segments.domain.realtime.streams.stream_config import StreamConfig
from segments.domain.realtime.streams.stream_offset import Offset
from segments.gateways.controller_protocol import NOT_SENT, Answer, Report
from segments.gateways.servers import HttpServers
from segments.gateways.streams.base import Batch
from segments.gateways.streams.memory import MemoryConsumer, MemoryStream
from segments.names import TableName
from segments.services.core.context import Actor
from segments.services.realtime import consumption
from segments.store import paths
from tests.dataplane.consuming.pauseless_world import create, status
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


@dataclass
class Commit:
    """The broker, and ``ends``: lets the commit go on that is held up, or fail when it ``is_lost``."""

    broker: Any = None
    ends: threading.Event = field(default_factory=threading.Event)
    is_lost: bool = False


def seen_behind_a_commit(world: ConsumingWorld) -> Commit:
    """350 rows are seen, 250 of them behind the end of a segment that is being committed. Server 2 got over an outage
    of the stream later than server 1: it has none of them yet.
    """
    made = Commit()

    def hold_the_end(kind: Kind, _: Report) -> Answer | None:
        if kind is Kind.COMMIT_END:
            made.ends.wait(20)
        return Answer(NOT_SENT) if kind is Kind.COMMIT_END and made.is_lost else None

    world.controller.before = hold_the_end
    world.create_realtime(rows=100, servers=(1, 2))
    world.start_server(1)
    opens = world.stream.open

    def opens_late(config: StreamConfig, defaults: Any = None) -> MemoryStream:
        return LateStream(world.stream, config.topic, config.type)

    world.stream.open = opens_late  # type: ignore[method-assign]
    world.start_server(2)
    world.stream.open = opens  # type: ignore[method-assign]
    broker = made.broker = world.start_broker()
    poll(lambda: len(broker.routing(RT).replicas[world.chain()[0]]) == 2, what="routing")  # type: ignore[union-attr]
    busy(broker, world, 2)
    assert rows_of(broker, SEEN) == [[0, 0]], "queries stay with the server that they are asked of first"
    world.send(350)
    poll(lambda: rows_of(broker, SEEN) == [[350, 350]], what="rows behind a commit that waits")
    return made


def has_committed(world: ConsumingWorld, segments: int) -> bool:
    """Is the table's chain that long, and all of it committed?"""
    chain = world.chain()
    return len(chain) == segments and all(status(world, s) == "DONE" for s in chain)


def same_everywhere(world: ConsumingWorld, broker: Broker) -> int:
    """Rows that every replica has, and a query sees: all that were seen before, and of later ones what came before the
    servers heard of the pause.
    """
    counts = {sum(world.rows_of(number).values()) for number in (1, 2)}
    assert len(counts) == 1
    seen = counts.pop()
    assert 350 <= seen <= world.sent
    assert rows_of(broker, SEEN) == [[seen, seen]]
    return seen


@pytest.mark.django_db
def test_rows_seen_behind_a_commit_stay_though_another_replica_is_asked(world: ConsumingWorld) -> None:
    commit = seen_behind_a_commit(world)
    busy(commit.broker, world, 1)
    assert [rows_of(commit.broker, SEEN) for _ in range(5)] == [[[350, 350]]] * 5
    commit.ends.set()
    poll(lambda: len(world.chain()) == 4, what="segments of the rows that were read ahead")
    assert rows_of(commit.broker, SEEN) == [[350, 350]]
    world.exact(1)
    world.chain_is_whole()


@pytest.mark.django_db
def test_a_replica_that_does_not_answer_is_not_waited_for_though_it_had_more(
    world: ConsumingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = seen_behind_a_commit(world)
    busy(commit.broker, world, 1)
    monkeypatch.setattr(HttpServers, "is_alive", lambda *_: False)
    asked = world.servers[1].runner.queries
    assert rows_of(commit.broker, SEEN) == [[0, 0]]
    assert world.servers[1].runner.queries == asked
    commit.ends.set()


@pytest.mark.django_db
@pytest.mark.parametrize("survivor", [1, 2])
def test_a_pause_in_the_middle_of_a_commit_commits_all_that_queries_saw_on_every_replica(
    world: ConsumingWorld, survivor: int
) -> None:
    """Without it they would be on one server alone, in memory, for as long as the pause lasts."""
    commit = seen_behind_a_commit(world)
    consumption.pause_table(world.ctx, TABLE, actor=ANN)
    world.send(40)
    commit.ends.set()
    poll(lambda: has_committed(world, 4), 20, "all that was seen is committed")
    world.settled()
    seen = same_everywhere(world, commit.broker)
    world.servers[3 - survivor].stop()
    assert [rows_of(commit.broker, SEEN) for _ in range(5)] == [[[seen, seen]]] * 5
    world.servers[survivor].stop()
    world.start_server(survivor)
    poll(lambda: rows_of(commit.broker, SEEN) == [[seen, seen]], what="the same rows after a restart")
    assert len(world.chain()) == 4, "nothing begins while it is paused"
    consumption.resume_table(world.ctx, TABLE, actor=ANN)
    world.exact(survivor)
    world.chain_is_whole()


@pytest.mark.django_db
def test_a_pause_before_the_start_of_a_pauseless_commit_commits_all_that_queries_saw(world: ConsumingWorld) -> None:
    starts = threading.Event()
    hold = world.controller

    def hold_the_start(kind: Kind, _: Report) -> Answer | None:
        if kind is Kind.COMMIT_START:
            starts.wait(20)
        return None

    hold.before = hold_the_start
    create(world, servers=(1, 2))
    for number in (1, 2):
        world.start_server(number)
    broker = world.start_broker()
    world.send(250)
    poll(lambda: rows_of(broker, SEEN) == [[250, 250]], what="rows behind a commit that waits")
    consumption.pause_table(world.ctx, TABLE, actor=ANN)
    starts.set()
    poll(lambda: has_committed(world, 3), 20, "all that was seen is committed")
    world.settled()
    for number in (1, 2):
        world.exact(number)
    world.chain_is_whole()


@pytest.mark.django_db
@pytest.mark.parametrize("kind", [Kind.COMMIT_START, Kind.COMMIT_END])
def test_a_committer_that_dies_in_a_pause_leaves_every_row_that_the_other_replica_has(
    world: ConsumingWorld, kind: Kind
) -> None:
    """Pauseless, so that the death is before and after the commit's start."""
    committers, dies = list[str](), threading.Event()

    def lose(said: Kind, report: Report) -> Answer | None:
        if said is not kind or report.instance not in (committers or [report.instance]):
            return None
        committers.append(report.instance)
        dies.wait(20)
        return Answer(NOT_SENT)

    world.controller.before = lose
    create(world, servers=(1, 2))
    for number in (1, 2):
        world.start_server(number)
    broker = world.start_broker()
    world.send(150)
    poll(lambda: rows_of(broker, SEEN) == [[150, 150]], what="rows behind a commit that waits")
    poll(lambda: bool(committers), what="the committer")
    consumption.pause_table(world.ctx, TABLE, actor=ANN)
    dead = next(n for n in (1, 2) if instance(n) in committers)
    dies.set()
    world.servers[dead].stop()
    poll(lambda: rows_of(broker, SEEN) == [[150, 150]], 20, "every row once, of the other replica")
    world.controller.before = lambda _kind, _report: None
    world.start_server(dead)
    poll(lambda: has_committed(world, 2), 30, "all that was seen is committed")
    world.settled()
    for number in (1, 2):
        world.exact(number)
    world.chain_is_whole()


@pytest.mark.django_db
def test_rows_that_queries_saw_are_read_again_for_a_pause_where_they_fit_the_coming_segment_no_more(
    world: ConsumingWorld,
) -> None:
    """The table's settings changed between the pause and the end of the commit."""
    commit = seen_behind_a_commit(world)
    consumption.pause_table(world.ctx, TABLE, actor=ANN)
    node = world.store.get(paths.schema("r"))
    world.store.replace(paths.schema("r"), node.record, node.version)
    world.send(40)
    commit.ends.set()
    poll(lambda: has_committed(world, 4), 20, "all that was seen is committed")
    world.settled()
    same_everywhere(world, commit.broker)
    world.chain_is_whole()


@pytest.mark.django_db
def test_what_is_left_answers_once_the_replica_that_had_more_is_gone_and_the_stream_has_the_rest(
    world: ConsumingWorld,
) -> None:
    commit = seen_behind_a_commit(world)
    commit.is_lost = True
    commit.ends.set()
    world.servers[1].stop()
    commit.is_lost = False
    consumption.pause_table(world.ctx, TABLE, actor=ANN)
    poll(lambda: (rows_of(commit.broker, SEEN) or [[350]])[0][0] < 350, what="the rows of the replica that is left")
    world.start_server(1)
    consumption.resume_table(world.ctx, TABLE, actor=ANN)
    world.exact(1)
    world.chain_is_whole()
