"""A table that has messages skipped where it is too far behind: when that is, what is on record, and what never is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from segments.domain.realtime.streams.offset_auto_reset import BACKFILL, ENABLE, MESSAGES, SECONDS
from segments.errors import InvalidInput
from segments.metrics.exposition import RecordedValues, render
from segments.metrics.metric_kinds import WEB
from segments.services.realtime import consumption
from segments.services.realtime.consuming_segments import StartFrom
from segments.services.realtime.realtime_validation import keep_consumption
from segments.services.realtime.resume_plan import plan_resume
from segments.services.tables import tables
from segments.store import paths
from segments.store.records.data_loss import DataLoss, read_data_loss
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld, config_of
from tests.services.spoken import Spoken

pytestmark = pytest.mark.django_db

#: Completion examples, row 83.
BY_COUNT = {ENABLE: "true", MESSAGES: "100"}
BY_TIME = {ENABLE: "true", SECONDS: "1800"}
HALF_AN_HOUR_MS = 1_800_000
PROTOCOLS = pytest.mark.parametrize("is_pauseless", [False, True], ids=["standard", "pauseless"])


def world_of(folder: Path, stream: dict[str, str], latest: int, *, is_pauseless: bool = False) -> RealtimeWorld:
    """One partition, whose stream has messages 0 to ``latest``."""
    more: dict[str, Any] = {"streaming": {"pauselessConsumptionEnabled": is_pauseless}}
    if is_pauseless:
        more["segments"] = {"peerSegmentDownloadScheme": "http"}
    world = RealtimeWorld(folder, partitions=1, servers=3, replication=3, stream=stream, **more)
    world.streams.topics["a"] = {0: [0, latest]}
    return world


def committed(world: RealtimeWorld, *, has_read_on: bool = False) -> tuple[str, str]:
    """The segment, committed at 40: its end, and the start of the one that follows."""
    Spoken(world.ctx, world.segments(0)[0], has_read_on=has_read_on).committed(offset=40)
    old, new = world.segments(0)
    return world.fields(old)["segment.realtime.endOffset"], world.fields(new)["segment.realtime.startOffset"]


def losses(world: RealtimeWorld) -> list[tuple[str, str, bool]]:
    return [(x.start, x.end, x.is_skipped) for x in read_data_loss(world.memory, TABLE.typed)]


def skipped() -> float:
    """As a web process shows it."""
    page = render(RecordedValues([WEB], lambda: [("test", TABLE.typed)])).decode()
    [line] = [x for x in page.splitlines() if x.startswith("pinotadmin_offset_auto_reset_skipped_offsets_total{")]
    return float(line.rpartition(" ")[2])


@PROTOCOLS
def test_more_messages_than_the_threshold_are_skipped_to_the_newest(tmp_path: Path, is_pauseless: bool) -> None:
    world = world_of(tmp_path, BY_COUNT, 141, is_pauseless=is_pauseless)
    before = skipped()
    assert committed(world) == ("40", "141")
    [loss] = read_data_loss(world.memory, TABLE.typed)
    assert loss == DataLoss(0, "40", "141", world.segments(0)[-1], world.now, is_skipped=True, count=101)
    assert loss.sentence == "Partition 0: rows from 40 to 141 were skipped: it was too far behind."
    assert skipped() - before == 101


@PROTOCOLS
def test_as_many_as_the_threshold_are_read(tmp_path: Path, is_pauseless: bool) -> None:
    world = world_of(tmp_path, BY_COUNT, 140, is_pauseless=is_pauseless)
    assert committed(world) == ("40", "40")
    assert losses(world) == []


@PROTOCOLS
@pytest.mark.parametrize(("since", "start"), [(41, "60"), (40, "40")], ids=["too old", "not too old"])
def test_a_message_that_has_waited_too_long_is_skipped(
    tmp_path: Path, since: int, start: str, is_pauseless: bool
) -> None:
    world = world_of(tmp_path, BY_TIME, 60, is_pauseless=is_pauseless)
    world.streams.since = {HALF_AN_HOUR_MS: since}
    assert committed(world) == ("40", start)


@pytest.mark.parametrize(
    "stream",
    [{}, {MESSAGES: "100"}, {**BY_COUNT, BACKFILL: "true"}, {ENABLE: "true"}, {**BY_COUNT, MESSAGES: "-1"}],
    ids=["not asked for", "not enabled", "backfill", "no threshold", "threshold of none"],
)
def test_nothing_is_skipped_unless_the_table_asks_for_it(tmp_path: Path, stream: dict[str, str]) -> None:
    assert committed(world_of(tmp_path, stream, 1_000_000)) == ("40", "40")


def test_a_threshold_that_got_past_the_checks_counts_as_none(tmp_path: Path) -> None:
    """As written into ZooKeeper by somebody else."""
    world = world_of(tmp_path, BY_COUNT, 1_000)
    path = paths.table_config(TABLE.typed)
    node = world.memory.get(path)
    assert node is not None
    assert node.record is not None
    simple = {k: v.replace('"100"', '"many"') for k, v in node.record.simple.items()}
    world.memory.replace(path, replace(node.record, simple=simple), node.version)
    assert committed(world) == ("40", "40")


def test_a_stream_that_does_not_answer_skips_nothing_and_keeps_no_commit_waiting(tmp_path: Path) -> None:
    world = world_of(tmp_path, BY_COUNT, 1_000)
    world.streams.is_down = True
    assert committed(world) == ("40", "40")


@PROTOCOLS
def test_rows_that_a_replica_has_read_on_to_are_not_skipped(tmp_path: Path, is_pauseless: bool) -> None:
    """The switch was set while they were read: queries have seen them."""
    world = world_of(tmp_path, BY_COUNT, 1_000, is_pauseless=is_pauseless)
    assert committed(world, has_read_on=True) == ("40", "40")


def test_a_paused_table_skips_nothing_until_it_goes_on(tmp_path: Path) -> None:
    world = world_of(tmp_path, BY_COUNT, 1_000)
    world.change_ideal(pauseState='{"paused":true}')
    before = skipped()
    Spoken(world.ctx, world.segments(0)[0]).committed(offset=40)
    assert (len(world.segments(0)), losses(world), skipped() - before) == (1, [], 0)


def test_a_missing_segment_is_made_at_the_newest_message(tmp_path: Path) -> None:
    world = world_of(tmp_path, BY_COUNT, 1_000)
    world.commit("40")
    world.now += 600_000
    keep_consumption(world.ctx)
    assert world.fields(world.consuming[0])["segment.realtime.startOffset"] == "1000"
    assert losses(world) == [("40", "1000", True)]


def test_what_was_lost_and_what_is_skipped_are_two_ranges(tmp_path: Path) -> None:
    world = world_of(tmp_path, BY_COUNT, 1_000)
    consumption.pause_table(world.ctx, TABLE, actor=ANN)
    world.commit("40").streams.topics["a"] = {0: [200, 1_000]}
    consumption.resume_table(world.ctx, TABLE, actor=ANN)
    assert sorted(losses(world)) == [("200", "1000", True), ("40", "200", False)]


def test_a_resume_says_before_that_it_skips_and_reads_all_where_a_person_chose_to(tmp_path: Path) -> None:
    world = world_of(tmp_path, BY_COUNT, 1_000)
    consumption.pause_table(world.ctx, TABLE, actor=ANN)
    world.commit("40")
    [planned] = plan_resume(world.ctx, TABLE, StartFrom())
    assert (planned.start, planned.skips, planned.skipped) == ("1000", True, 960)
    chosen = StartFrom("lastConsumed", is_chosen=True)
    assert plan_resume(world.ctx, TABLE, chosen)[0].start == "40"
    consumption.resume_table(world.ctx, TABLE, start=chosen, actor=ANN)
    assert world.fields(world.consuming[0])["segment.realtime.startOffset"] == "40"
    assert losses(world) == []


@pytest.mark.parametrize(
    ("stream", "streaming", "told"),
    [
        ({ENABLE: "true", MESSAGES: "many"}, {}, MESSAGES),
        ({SECONDS: "1.5"}, {}, SECONDS),
        ({"streamType": "redis", "stream.redis.topic.name": "a", MESSAGES: "100001"}, {}, "more than 100000"),
        (BY_COUNT, {"realtimeOffsetAutoResetHandlerClass": "org.x.Handler"}, "realtimeOffsetAutoResetHandlerClass"),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_name(
    tmp_path: Path, stream: dict[str, str], streaming: dict[str, str], told: str
) -> None:
    world = RealtimeWorld(tmp_path)
    with pytest.raises(InvalidInput, match=told):
        tables.update_table(world.ctx, "t_REALTIME", config_of(stream=stream, streaming=streaming), actor=ANN)
