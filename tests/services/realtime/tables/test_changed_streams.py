"""A table that is made to read another topic: nothing goes on from an offset of the old one unless somebody says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.domain.realtime.streams import changed_streams
from segments.domain.realtime.streams.stream_config import parse_stream_config
from segments.errors import StateConflict
from segments.models import Finding
from segments.services.realtime import consumption
from segments.services.realtime.consuming_segments import StartFrom
from segments.services.realtime.realtime_validation import run
from segments.services.realtime.resume_plan import plan_resume
from segments.services.tables import tables
from segments.store.records.data_loss import read_data_loss
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld, config_of

pytestmark = pytest.mark.django_db
OTHER = {"stream.memory.topic.name": "b"}


def paused(folder: Path) -> RealtimeWorld:
    """Both partitions stopped at 500; topic b has messages 0 to 900 of its own."""
    world = RealtimeWorld(folder)
    consumption.pause_table(world.ctx, TABLE, actor=ANN)
    world.commit("500")
    world.streams.topics["b"] = {0: [0, 900], 1: [0, 900]}
    return world


def change(world: RealtimeWorld, **stream: str) -> None:
    tables.update_table(world.ctx, "t", config_of(stream=stream), actor=ANN)


def starts(world: RealtimeWorld) -> set[str]:
    return {world.fields(s)["segment.realtime.startOffset"] for s in world.consuming}


def resume(world: RealtimeWorld, start: StartFrom | None = None) -> Any:
    return consumption.resume_table(world.ctx, TABLE, start=start, actor=ANN)


def test_a_resume_asks_where_to_begin_in_another_topic(tmp_path: Path) -> None:
    world = paused(tmp_path)
    change(world, **OTHER)
    for ask in (
        lambda: resume(world),
        lambda: resume(world, StartFrom()),
        lambda: plan_resume(world.ctx, TABLE, StartFrom()),
    ):
        with pytest.raises(StateConflict, match="stopped in memory topic 'a'"):
            ask()
    assert (world.pause.paused, world.consuming) == (True, [])
    resume(world, StartFrom("smallest", is_chosen=True))
    assert starts(world) == {"0"}
    assert read_data_loss(world.memory, TABLE.typed) == []
    consumption.pause_table(world.ctx, TABLE, actor=ANN)
    world.commit("700")
    resume(world)  # it stopped in the new topic: nothing to ask any more
    assert starts(world) == {"700"}


@pytest.mark.parametrize(
    ("start", "begins"),
    [(StartFrom("lastConsumed", is_chosen=True), {"500"}), (StartFrom("largest", is_chosen=True), {"900"}),
     (StartFrom(offsets={0: "7", 1: "8"}), {"7", "8"})],
)  # fmt: skip
def test_what_is_promised_holds(tmp_path: Path, start: StartFrom, begins: set[str]) -> None:
    world = paused(tmp_path)
    change(world, **OTHER)
    resume(world, start)
    assert starts(world) == begins
    assert world.ideal.lists == {}


def test_the_preview_does_not_compare_offsets_of_two_streams(tmp_path: Path) -> None:
    world = paused(tmp_path)
    change(world, **OTHER)
    planned = plan_resume(world.ctx, TABLE, StartFrom("smallest", is_chosen=True))
    assert [(p.start, p.skips, p.skipped, p.repeated) for p in planned] == [("0", False, None, None)] * 2
    assert "another stream" in planned[0].note


def test_a_change_of_the_stream_waits_until_nothing_consumes_it(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    with pytest.raises(StateConflict, match="still consumes"):
        change(world, **OTHER)
    change(world, **{"realtime.segment.flush.threshold.segment.rows": "77"})  # the stream is the same


def test_a_stream_that_is_changed_back_goes_on_where_it_stopped(tmp_path: Path) -> None:
    world = paused(tmp_path)
    change(world, **OTHER)
    change(world)
    resume(world)
    assert starts(world) == {"500"}


def test_no_pass_goes_on_in_another_stream_automatically_and_a_finding_says_why(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    world.commit("500")  # not paused: the servers had stopped
    world.streams.topics["b"] = {0: [0, 900], 1: [0, 900]}
    change(world, **OTHER)
    run(world.ctx, TABLE)
    assert world.consuming == []
    assert "Choose where to begin" in Finding.objects.get(code="consumption-another-stream").message


def test_the_same_brokers_in_another_order_are_the_same_stream() -> None:
    def named(brokers: str, topic: str = "x") -> str:
        stream = {"streamType": "kafka", "stream.kafka.topic.name": topic, "stream.kafka.broker.list": brokers}
        return changed_streams.identity(parse_stream_config({**stream, "stream.kafka.decoder.class.name": "json"}))

    assert named("B:9092, a:9092") == named("a:9092,b:9092")
    assert named("a:9092") != named("c:9092")
    assert named("a:9092") != named("a:9092", "y")
