"""The validation pass over a realtime table: what it repairs, what it leaves alone, what it only says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.completion import Kind
from segments.domain.realtime.llc_name import LLCName, parse_llc_name
from segments.domain.segments.ideal_state import external_view
from segments.models import Cluster, Finding, LagSample, PassRun, Table
from segments.services.clusters.cluster_settings import remove_setting, set_settings
from segments.services.core.context import SYSTEM
from segments.services.realtime import consumption
from segments.services.realtime.realtime_validation import keep_consumption, run
from segments.services.realtime.sequence_deletion import delete_from_sequence
from segments.services.segments import deletion
from segments.services.segments.segment_reset import reload_segments, reset_segment, reset_table
from segments.services.upkeep.passes import run_pass
from segments.services.upkeep.validation import run as run_status_checker
from segments.store import paths
from segments.store.records import messages
from segments.store.records.instances import join
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld
from tests.services.spoken import Spoken

pytestmark = pytest.mark.django_db
AGE = "max.segment.completion.time.millis"
PAUSELESS: dict[str, Any] = {
    "segments": {"peerSegmentDownloadScheme": "http"},
    "streaming": {"pauselessConsumptionEnabled": True},
}


def sequences(world: RealtimeWorld, partition: int = 0) -> list[int]:
    return [parse_llc_name(s).sequence for s in world.segments(partition)]


def codes() -> set[str]:
    return set(Finding.objects.filter(closed_at=None).values_list("code", flat=True))


def view(world: RealtimeWorld, **states: str) -> None:
    """The external view follows the ideal state; {server's port: state} is what some servers say of everything."""
    rows = {s: {i: states.get(i.rpartition("_")[2], w) for i, w in row.items()} for s, row in world.ideal.maps.items()}
    record, path = external_view(world.ideal, rows), paths.external_view(TABLE.typed)
    node = world.memory.get(path)
    if node is None:
        world.memory.create(path, record)
    else:
        world.memory.replace(path, record, node.version)


def test_a_healthy_table_is_not_touched(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    before = world.ideal
    assert run(world.ctx, TABLE) == ["t_REALTIME consumes as it should."]
    assert world.ideal == before
    assert world.records == world.consuming


def test_a_deleted_consuming_segment_comes_back_from_the_last_end(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    world.commit("20")
    keep_consumption(world.ctx)
    old, lost = world.segments(0)
    deletion.remove_segments(world.ctx, TABLE, [lost], actor=ANN)
    run(world.ctx, TABLE)
    assert world.segments(0) == [old]
    deletion.drain(world.ctx, TABLE)
    run(world.ctx, TABLE)
    new = world.segments(0)[-1]
    assert parse_llc_name(new).sequence == 1
    assert world.fields(new)["segment.realtime.startOffset"] == "20"
    assert old in world.ideal.maps


def test_all_replicas_stopped_begin_again_at_once_from_the_same_start(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    [segment] = world.consuming
    world.set_row(segment, "OFFLINE")
    keep_consumption(world.ctx)
    assert sequences(world) == [0, 1]
    assert world.fields(world.consuming[0])["segment.realtime.startOffset"] == "0"
    assert set(world.ideal.maps[segment].values()) == {"OFFLINE"}


def test_a_partition_that_stops_again_and_again_is_tried_less_and_less_often_and_reported(tmp_path: Path) -> None:
    """Each try leaves a segment behind: rows that no replica can take would fill ZooKeeper with them."""
    world = RealtimeWorld(tmp_path, partitions=1)
    for _ in range(1200):
        world.now += 3_000
        if world.consuming:
            world.set_row(world.consuming[0], "OFFLINE")
        keep_consumption(world.ctx)
    assert 10 <= len(sequences(world)) <= 20
    world.set_row(world.segments(0)[-1], "OFFLINE")
    assert any("cannot be consumed" in s for s in run(world.ctx, TABLE))
    assert "consumption-failing" in codes()
    consumption.resume_table(world.ctx, TABLE, actor=ANN)
    assert len(world.consuming) == 1
    world.now += 3_600_000
    run(world.ctx, TABLE)
    assert "consumption-failing" not in codes()
    world.set_row(world.consuming[0], "OFFLINE")
    keep_consumption(world.ctx)
    assert len(world.consuming) == 1


def test_a_commit_ends_the_count_of_tries(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    for _ in range(2):
        world.set_row(world.consuming[0], "OFFLINE")
        world.now += 60_000
        keep_consumption(world.ctx)
    Spoken(world.ctx, world.consuming[0]).committed(1, 40)
    world.set_row(world.consuming[0], "OFFLINE")
    keep_consumption(world.ctx)
    assert len(world.consuming) == 1


def test_a_segment_begun_again_keeps_the_limit_that_was_lowered_for_it(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    [segment] = world.consuming
    Spoken(world.ctx, segment).say(Kind.BUILD_FAILED, 1, rows=1000)
    assert world.fields(segment)["segment.flush.threshold.size"] == "500"
    world.set_row(segment, "OFFLINE")
    keep_consumption(world.ctx)
    assert world.fields(world.consuming[0])["segment.flush.threshold.size"] == "500"


@pytest.mark.parametrize("config", [{}, PAUSELESS], ids=["standard", "pauseless"])
@pytest.mark.parametrize("status", ["DONE", "COMMITTING"])
def test_half_a_commit_is_finished_when_it_is_old_and_left_alone_before(
    tmp_path: Path, status: str, config: dict[str, Any]
) -> None:
    world = RealtimeWorld(tmp_path, partitions=1, **config)
    [segment] = world.consuming
    world.done(segment, "40").set_record(segment, segment_realtime_status=status)
    world.now += 300_000
    assert any("half done" in s for s in run(world.ctx, TABLE))
    assert sequences(world) == [0]
    assert codes() >= {"consumption-half-commit"}
    world.now += 1
    run(world.ctx, TABLE)
    assert sequences(world) == [0, 1]
    assert set(world.ideal.maps[segment].values()) == {"ONLINE"}
    assert world.fields(world.consuming[0])["segment.realtime.startOffset"] == "40"
    assert "consumption-half-commit" not in codes()


@pytest.mark.parametrize(
    ("text", "age_ms"),
    [
        ("600000", 600_000),
        (None, 300_000),
        ("not_a_number", 300_000),
        ("0", 300_000),
        ("-100", 300_000),
        ("1000", 1000),
    ],
)
def test_what_counts_as_old_is_a_cluster_setting(tmp_path: Path, text: str | None, age_ms: int) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    if text is not None:  # as another program may have left it: what is sent to us is checked
        world.ctx.engine.instances.change_settings(world.ctx, {AGE: text})
    world.done(world.consuming[0], "40")
    world.now += age_ms
    run(world.ctx, TABLE)
    assert sequences(world) == [0]
    world.now += 1
    run(world.ctx, TABLE)
    assert sequences(world) == [0, 1]


def test_a_removed_setting_has_its_default_again(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    set_settings(world.ctx, {AGE: "1000"}, actor=ANN)
    remove_setting(world.ctx, AGE, actor=ANN)
    world.done(world.consuming[0], "40")
    world.now += 2000
    run(world.ctx, TABLE)
    assert sequences(world) == [0]


def test_a_forgotten_successor_is_assigned(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    [segment] = world.consuming
    world.done(segment, "40")
    orphan = LLCName("t", 0, 1, world.now).text
    fields = {"segment.realtime.status": "IN_PROGRESS", "segment.realtime.startOffset": "40"}
    world.memory.create(paths.segment(TABLE.typed, orphan), ZNRecord(orphan, fields))
    world.now += 300_001
    run(world.ctx, TABLE)
    assert world.segments(0) == world.records == [segment, orphan]
    assert world.consuming == [orphan]


def test_new_partitions_of_the_stream_are_read_from_their_beginning(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1, stream={"stream.memory.consumer.prop.auto.offset.reset": "largest"})
    world.streams.topics["a"][1] = [3, 9]
    run(world.ctx, TABLE)
    [new] = world.segments(1)
    assert world.fields(new)["segment.realtime.startOffset"] == "3"


def test_a_stream_that_does_not_answer_is_reported_and_does_not_keep_the_rest_from_being_done(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    world.commit("7").streams.is_down = True
    view(world, **{"8098": "ERROR"})
    said = run(world.ctx, TABLE)
    assert any("does not answer" in s for s in said)
    assert any(s.startswith("Reset ") and s.endswith("in ERROR.") for s in said)
    assert [world.fields(s)["segment.realtime.startOffset"] for s in world.consuming] == ["7", "7"]


def test_too_few_servers_are_a_finding_and_nothing_is_half_done(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path).commit("7")
    world.memory.delete(paths.participant("Server_s_8099"))
    before = world.ideal
    run(world.ctx, TABLE)
    assert world.ideal == before
    assert "consumption-repair" in codes()
    join(world.memory.another_client(), "Server_s_8100", "s", 8100, ["DefaultTenant_REALTIME"])
    run(world.ctx, TABLE)
    assert len(world.consuming) == 2
    assert "consumption-repair" not in codes()


def test_only_replicas_in_error_are_reset_and_only_on_live_servers(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1).commit("7")
    segment = world.segments(0)[0]
    view(world, **{"8099": "ERROR"})
    run(world.ctx, TABLE)
    assert world.messages("Server_s_8098") == []
    [message] = world.messages("Server_s_8099")
    assert (message.type, message.resource, message.partition) == ("STATE_TRANSITION", TABLE.typed, segment)
    assert (message.simple["FROM_STATE"], message.simple["TO_STATE"]) == ("ERROR", "OFFLINE")


@pytest.mark.parametrize(("config", "resets"), [({}, 0), (PAUSELESS, 1)], ids=["standard", "pauseless"])
def test_resets_can_be_switched_off_but_of_pauseless_tables(
    tmp_path: Path, config: dict[str, Any], resets: int
) -> None:
    world = RealtimeWorld(tmp_path, partitions=1, **config).commit("7")
    view(world, **{"8099": "ERROR"})
    set_settings(world.ctx, {"controller.segment.error.autoReset": "false"}, actor=ANN)
    run(world.ctx, TABLE)
    assert len(world.messages("Server_s_8099")) == resets


def test_consuming_segments_without_a_live_server_are_reported(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    for server in ("Server_s_8098", "Server_s_8099"):
        world.memory.delete(paths.live_instance(server))
    assert sum("none of Server_s_8098, Server_s_8099 is alive" in s for s in run(world.ctx, TABLE)) == 2
    assert "consumption-no-server" in codes()


def test_losses_of_data_stay_listed_for_a_week(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1).commit("7")
    world.streams.topics["a"] = {0: [9, 20]}
    run(world.ctx, TABLE)
    assert "consumption-data-loss" in codes()
    world.now += 6 * 86_400_000
    run(world.ctx, TABLE)
    assert "consumption-data-loss" in codes()
    world.now += 2 * 86_400_000
    run(world.ctx, TABLE)
    assert "consumption-data-loss" not in codes()


def test_the_two_passes_leave_one_anothers_findings_open(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1).commit("7")
    world.streams.topics["a"] = {0: [9, 20]}
    run(world.ctx, TABLE)
    run_status_checker(world.ctx, TABLE)
    run(world.ctx, TABLE)
    assert {"consumption-data-loss", "not-served"} <= codes()


def test_a_disabled_table_is_left_alone(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path).commit("7").change_ideal(HELIX_ENABLED="false")
    before = world.ideal
    assert run(world.ctx, TABLE) == ["t_REALTIME is disabled and left alone."]
    assert keep_consumption(world.ctx) == []
    assert world.ideal == before


def test_the_pass_reads_realtime_tables_only_and_is_known_by_pinots_name(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    assert run_pass(world.ctx, "RealtimeSegmentValidationManager", None, SYSTEM) == [
        "t_REALTIME consumes as it should."
    ]
    assert [r.table_name for r in PassRun.objects.all()] == ["t_REALTIME"]


def test_the_quick_check_asks_no_stream_while_all_is_well(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    asked = world.streams.asked
    assert keep_consumption(world.ctx) == []
    assert world.streams.asked == asked


def test_completion_machines_of_segments_that_are_gone_go_too(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=2)
    gone, there = world.consuming
    for segment in (gone, there):
        Spoken(world.ctx, segment).consumed(1, 5)
    world.set_row(gone, None)
    world.memory.delete(paths.segment(TABLE.typed, gone))
    world.now += 120_000
    run(world.ctx, TABLE)
    assert world.memory.children(paths.completions(TABLE.typed)) == [there]


# -- reset, reload, deletion from a sequence on


def test_a_reset_reaches_every_replica_or_the_one_named(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    view(world)
    assert reset_segment(world.ctx, TABLE, world.consuming[0], actor=ANN) == 2
    assert reset_segment(world.ctx, TABLE, world.consuming[0], target="Server_s_8098", actor=ANN) == 1
    assert reset_table(world.ctx, TABLE, errors_only=True, actor=ANN) == 0
    assert len(world.messages("Server_s_8099")) == 1


def test_a_reload_reaches_the_servers_that_hold_files(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    assert reload_segments(world.ctx, TABLE, actor=ANN)["numMessagesSent"] == "0"
    world.commit()
    segment = world.segments(0)[0]
    job = reload_segments(world.ctx, TABLE, segments=[segment], force_download=True, actor=ANN)
    assert job["numMessagesSent"] == "2"
    [message] = world.messages()
    assert (message.subtype, message.lists["segmentNames"], message.simple["forceDownload"]) == (
        messages.RELOAD_SEGMENT,
        [segment],
        "true",
    )


@pytest.mark.parametrize("config", [{}, PAUSELESS], ids=["standard", "pauseless"])
def test_segments_are_deleted_from_a_sequence_on_and_read_again(tmp_path: Path, config: dict[str, Any]) -> None:
    world = RealtimeWorld(tmp_path, partitions=1, **config)
    for end in ("10", "20", "30"):
        world.commit(end)
        keep_consumption(world.ctx)
    consumption.pause_table(world.ctx, TABLE, actor=ANN)
    world.commit("40")
    first = world.segments(0)[2]
    plan = delete_from_sequence(world.ctx, TABLE.typed, [first], dry_run=True, force=False, actor=ANN)
    assert plan["message"].startswith("Dry run completed")
    assert plan["partitions"]["0"]["segmentCount"] == 2
    assert sequences(world) == [0, 1, 2, 3]
    delete_from_sequence(world.ctx, TABLE.typed, [first], dry_run=False, force=False, actor=ANN)
    assert sequences(world) == [0, 1]
    consumption.resume_table(world.ctx, TABLE, actor=ANN)
    assert sequences(world) == [0, 1, 2]
    assert world.fields(world.consuming[0])["segment.realtime.startOffset"] == "20"


def samples(world: RealtimeWorld, offsets: list[str], waiting: int = 5) -> None:
    """One a minute, up to now, of partition 0."""
    cluster, _ = Cluster.objects.get_or_create(name="test")
    row, _ = Table.objects.get_or_create(cluster=cluster, name=TABLE.typed, raw_name=TABLE.raw, type="REALTIME")
    now = datetime.fromtimestamp(world.now / 1000, UTC)
    LagSample.objects.filter(table=row).delete()
    for minute, offset in enumerate(reversed(offsets)):
        at = now - timedelta(minutes=minute)
        LagSample.objects.create(table=row, partition=0, at=at, offset=offset, messages=waiting)


def test_a_partition_that_does_not_move_although_messages_wait_is_a_finding(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    samples(world, ["7"] * 15)
    run(world.ctx, TABLE)
    assert "at offset 7 for 15 minutes" in Finding.objects.get(code="consumption-not-moving", closed_at=None).message
    for offsets, waiting in ((["7"] * 14 + ["8"], 5), (["7"] * 15, 0), (["7"] * 5, 5), ([""] * 15, 5)):
        samples(world, offsets, waiting)
        run(world.ctx, TABLE)
        assert "consumption-not-moving" not in codes()
