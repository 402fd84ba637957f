"""Servers and brokers that are restarted while a pauseless commit is under way: it is ended, and until then no query
leaves its rows out in silence.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from segments.clusters.embedded.realtime.completion.committing_list import listed_segments
from segments.dataplane.broker import Broker
from segments.domain.realtime.completion import Kind
from segments.gateways.controller_protocol import NOT_SENT, Answer, Report
from segments.store import paths
from tests.dataplane.consuming.pauseless_world import IMPATIENT, TABLE, SlowUploads, create, done, status
from tests.dataplane.consuming_world import RT, ConsumingWorld, instance, rows_of
from tests.dataplane.world import poll


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowUploads]:
    made = SlowUploads(monkeypatch)
    yield made
    made.answers.set()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ConsumingWorld]:
    made = ConsumingWorld(tmp_path)
    yield made
    made.close()


def test_a_server_that_is_restarted_after_the_build_serves_its_copy(world: ConsumingWorld, slow: SlowUploads) -> None:
    segment = create(world)
    world.start_server(consuming=IMPATIENT)
    world.send(130)
    poll(lambda: world.view(segment) == {instance(1): "ONLINE"}, what="the file answers")
    world.servers[1].stop()
    assert status(world, segment) == "COMMITTING"
    world.start_server()
    poll(lambda: world.view(segment) == {instance(1): "ONLINE"}, what="the copy on disk answers")
    world.exact(1)


def test_a_server_that_is_restarted_after_the_build_ends_its_commit(world: ConsumingWorld, slow: SlowUploads) -> None:
    segment = create(world)
    world.start_server(consuming=IMPATIENT)
    world.send(130)
    poll(lambda: world.view(segment) == {instance(1): "ONLINE"}, what="the file answers")
    world.servers[1].stop()
    assert status(world, segment) == "COMMITTING"
    slow.answers.set()
    world.start_server()
    done(world, segment)
    assert listed_segments(world.store, TABLE) == []
    world.settled().exact(1)
    world.chain_is_whole()


def test_of_two_servers_that_were_restarted_with_a_copy_each_one_ends_the_commit(world: ConsumingWorld) -> None:
    is_held = threading.Event()
    is_held.set()

    def hold_the_end(kind: Kind, _: Report) -> Answer | None:
        return Answer(NOT_SENT) if kind is Kind.COMMIT_END and is_held.is_set() else None

    world.controller.before = hold_the_end
    segment = create(world, servers=(1, 2))
    for number in (1, 2):
        world.start_server(number, consuming=IMPATIENT)
    world.send(130)
    online = {instance(1): "ONLINE", instance(2): "ONLINE"}
    poll(lambda: world.view(segment) == online, 20, "a copy on both")
    for number in (1, 2):
        world.servers[number].stop()
    assert status(world, segment) == "COMMITTING"
    world.controller.heard.clear()
    is_held.clear()
    for number in (1, 2):
        world.start_server(number)
    done(world, segment)

    def ends() -> int:
        return sum((said, to) == (Kind.COMMIT_END, "COMMIT_SUCCESS") for said, _, to in world.controller.heard)

    poll(lambda: ends() > 0, what="the answer to the end")
    world.settled()
    assert ends() == 1
    for number in (1, 2):
        world.exact(number)
    world.chain_is_whole()


def waiting_for_a_copy(world: ConsumingWorld) -> str:
    """A segment whose commit has started, and whose only server comes back without its rows and waits for them."""
    segment = create(world)
    world.start_server(consuming=IMPATIENT)
    world.send(130)
    poll(lambda: world.view(segment) == {instance(1): "ONLINE"}, what="the file answers")
    world.servers[1].stop()
    shutil.rmtree(world.folder / "server-1")
    return segment


def names(broker: Broker, segment: str) -> bool:
    """Is the segment named in the exceptions of a query?"""
    return any(segment in fault["message"] for fault in broker.query("select count(*) from r")["exceptions"])


def test_a_broker_that_is_restarted_names_the_segment_whose_copy_is_waited_for(
    world: ConsumingWorld, slow: SlowUploads
) -> None:
    segment = waiting_for_a_copy(world)
    world.start_server()
    poll(lambda: world.view(world.chain()[1]) == {instance(1): "CONSUMING"}, what="the next segment")
    assert world.view(segment) == {}
    assert names(world.start_broker(), segment)


def test_a_broker_that_never_saw_a_segment_served_names_it_when_its_copy_is_waited_for(
    world: ConsumingWorld, slow: SlowUploads
) -> None:
    segment = waiting_for_a_copy(world)
    path = paths.ideal_state(RT)
    node = world.store.get(path)
    assert node is not None
    assert node.record is not None
    rows = node.record.maps
    world.store.replace(path, replace(node.record, maps={s: r for s, r in rows.items() if s != segment}), node.version)
    broker = world.start_broker()
    world.start_server()
    poll(lambda: rows_of(broker, "select count(*) from r") == [[30]], what="routing without it")
    node = world.store.get(path)
    assert node is not None
    assert node.record is not None
    world.store.replace(path, replace(node.record, maps=rows), node.version)
    poll(lambda: names(broker, segment), 10, "its name")
