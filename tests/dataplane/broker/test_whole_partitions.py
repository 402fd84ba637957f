"""Of a table with keys a server answers that has a whole partition: it is never kept back for one that lacks a part."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from segments.dataplane.broker import Broker
from segments.dataplane.server.consuming.commit.commit import Commit
from segments.dataplane.server.consuming.source import has_others, read_source
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.llc_name import LLCName
from segments.domain.realtime.streams.stream_config import StreamConfig
from segments.domain.realtime.streams.stream_offset import Offset, parse_offset
from segments.domain.segments.ideal_state import external_view, with_rows
from segments.store import paths
from segments.store.update import update_record
from tests.dataplane.consuming.keyed.keyed_world import KeyedWorld
from tests.dataplane.consuming.pauseless_world import PEERS
from tests.dataplane.consuming.test_lagging_replicas import LateStream
from tests.dataplane.consuming_world import RT, instance
from tests.dataplane.world import codes, poll

FULL = {"upsertConfig": {"mode": "FULL"}}
ONE, TWO = instance(1), instance(2)
Rows = Mapping[str, Mapping[str, str]]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[KeyedWorld]:
    """An empty cluster."""
    made = KeyedWorld(tmp_path)
    yield made
    made.close()


class EndlessStream(LateStream):
    """One that is late, and whose end is far away: there are always rows behind a segment."""

    def latest(self, partition: int) -> Offset:
        """See :class:`segments.gateways.streams.base.Stream`."""
        return parse_offset("memory", "1000000")


def say(world: KeyedWorld, rows: Rows) -> None:
    """The external view says this."""
    ideal = world.store.get(paths.ideal_state(RT)).record
    wanted = external_view(ideal, {s: dict(row) for s, row in rows.items()})
    update_record(world.store, paths.external_view(RT), lambda _: wanted)


def heard(broker: Broker, segment: str, *servers: str) -> None:
    """The broker knows that these servers have the segment."""

    def is_known() -> bool:
        routing = broker.routing(RT)
        return routing is not None and {r.instance for r in routing.replicas.get(segment, ())} == set(servers)

    poll(is_known, what="routing")


def apart(world: KeyedWorld) -> tuple[Broker, ZNRecord]:
    """Two segments; by the view each is on another server. The view as it was before."""
    world.create_keyed(FULL, rows=10, servers=(1, 2))
    for number in (1, 2):
        world.start_server(number)
    world.put(*((f"k{i}", 1, i, False) for i in range(10)))
    poll(lambda: len(world.chain()) == 2, what="the next segment")
    broker = world.start_broker()
    world.settled()
    world.shows(broker)
    whole = world.store.get(paths.external_view(RT)).record
    first, second = world.chain()
    say(world, {first: {ONE: "ONLINE"}, second: {TWO: "CONSUMING"}})
    heard(broker, first, ONE)
    heard(broker, second, TWO)
    return broker, whole


def test_a_query_waits_a_moment_while_every_segment_has_a_server_and_none_has_them_all(world: KeyedWorld) -> None:
    broker, whole = apart(world)
    timer = threading.Timer(0.2, lambda: update_record(world.store, paths.external_view(RT), lambda _: whole))
    timer.start()
    answer = broker.query("select count(*) from r")
    timer.join()
    assert answer["exceptions"] == []
    assert answer["resultTable"]["rows"] == [[10]]


def test_a_partition_that_stays_apart_is_named_after_that_moment(world: KeyedWorld) -> None:
    broker, _ = apart(world)
    answer = broker.query("select count(*) from r")
    assert codes(answer) == [305]
    assert "served by no live server" in answer["exceptions"][0]["message"]


@pytest.mark.parametrize(
    ("first", "second", "is_kept_back"),
    [
        pytest.param({ONE: "ONLINE", TWO: "ONLINE"}, {TWO: "CONSUMING"}, True, id="the other has all"),
        pytest.param({ONE: "ONLINE"}, {TWO: "CONSUMING"}, False, id="the other lacks an older one"),
        pytest.param({ONE: "ONLINE", TWO: "ERROR"}, {TWO: "CONSUMING"}, False, id="the other failed to load it"),
        pytest.param({ONE: "ONLINE", TWO: "ONLINE"}, {ONE: "CONSUMING"}, False, id="there is no other"),
    ],
)
def test_only_a_replica_that_is_asked_keeps_another_back(
    world: KeyedWorld, first: dict[str, str], second: dict[str, str], is_kept_back: bool
) -> None:
    name = world.create_keyed(FULL, servers=(1, 2))
    after = LLCName("r", 0, 1, world.ctx.clock())
    rows: dict[str, Any] = {name: {ONE: "ONLINE", TWO: "ONLINE"}, after.text: {ONE: "CONSUMING", TWO: "CONSUMING"}}
    update_record(world.store, paths.ideal_state(RT), lambda found: with_rows(found.record, rows))  # type: ignore[union-attr,arg-type]
    say(world, {name: first, after.text: second})
    source = replace(read_source(world.store, RT, name, ONE), name=after)
    assert has_others(world.store, source, ONE) == is_kept_back


@pytest.mark.django_db
def test_a_replica_that_read_to_the_fixed_end_answers_while_it_still_builds(
    world: KeyedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many rows there are behind that end: they are the next segment's."""
    builds, rebuild = threading.Event(), Commit.rebuild

    def slow(commit: Commit, *given: Any) -> Any:
        builds.wait(20)
        return rebuild(commit, *given)

    monkeypatch.setattr(Commit, "rebuild", slow)
    name = world.create_keyed(FULL, rows=20, servers=(1, 2), is_pauseless=True, segments=PEERS)
    world.start_server(1)
    poll(lambda: world.view(name) == {ONE: "CONSUMING"}, what="a replica that answers")
    opens = world.stream.open

    def opens_late(config: StreamConfig, defaults: Any = None) -> LateStream:
        return EndlessStream(world.stream, config.topic, config.type)

    monkeypatch.setattr(world.stream, "open", opens_late)
    world.start_server(2)
    monkeypatch.setattr(world.stream, "open", opens)
    poll(lambda: world.rows_of(2) == {name: 0}, what="a replica without a row")
    world.put(*((f"k{i}", 1, i, False) for i in range(20)))
    try:
        poll(lambda: world.view(name).get(TWO) == "CONSUMING", what="the other one too")
    finally:
        builds.set()
    poll(lambda: world.view(name) == {ONE: "ONLINE", TWO: "ONLINE"}, what="both files")
