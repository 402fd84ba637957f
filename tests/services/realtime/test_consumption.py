"""Pause and resume as use cases: tables, topics, partitions, planned ends, offsets by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from segments.domain.realtime.llc_name import parse_llc_name
from segments.errors import InvalidInput, NotFound, StateConflict, Unavailable
from segments.models import AuditEvent
from segments.names import REALTIME, TableName
from segments.services.realtime import consumption
from segments.services.realtime.consuming_segments import StartFrom
from segments.services.realtime.realtime_state import realtime_table
from segments.services.realtime.realtime_validation import keep_consumption
from segments.services.realtime.resume_plan import plan_resume
from segments.services.tables import tables
from segments.store import paths
from segments.store.records import messages
from segments.store.records.data_loss import read_data_loss
from tests.faults.faulty import FaultyStore, Plan
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld, config_of

pytestmark = pytest.mark.django_db


def pause(world: RealtimeWorld, **more: object) -> dict[str, object]:
    return consumption.pause_table(world.ctx, TABLE, actor=ANN, **more)  # type: ignore[arg-type]


def resume(world: RealtimeWorld, start: StartFrom | None = None) -> dict[str, object]:
    return consumption.resume_table(world.ctx, TABLE, start=start, comment="go", actor=ANN)


def starts(world: RealtimeWorld) -> dict[int, str]:
    return {parse_llc_name(s).partition: world.fields(s)["segment.realtime.startOffset"] for s in world.consuming}


def test_a_pause_sets_the_flag_and_sends_every_server_its_segments(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    before = world.consuming
    answer = pause(world, comment="x")
    assert answer == {
        "pauseFlag": True,
        "consumingSegments": before,
        "reasonCode": "ADMINISTRATIVE",
        "comment": "x",
        "timestamp": "2023-11-14 22:13:20.0",
        "actor": "ann",
    }
    assert world.ideal.simple["isTablePaused"] == "true"
    assert json.loads(world.ideal.simple["pauseState"])["paused"] is True
    for server in ("Server_s_8098", "Server_s_8099"):
        [message] = world.messages(server)
        assert (message.type, message.subtype) == ("USER_DEFINE_MSG", "FORCE_COMMIT")
        assert message.simple["tableName"] == TABLE.typed
        assert message.simple["segmentNames"] == ",".join(before)
    assert AuditEvent.objects.get(action="pauseConsumption").reason == "because"


def test_a_pause_again_rewrites_comment_and_time_and_asks_only_for_what_is_left(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    pause(world, comment="x")
    world.commit()
    for message in world.messages():
        messages.delete(world.memory, message)
    world.now += 1000
    assert pause(world, comment="y")["consumingSegments"] == []
    assert world.messages() == []
    status = consumption.pause_status(world.ctx, TABLE)
    assert (status["comment"], status["timestamp"]) == ("y", "2023-11-14 22:13:21.0")


def test_a_server_with_an_unread_message_gets_no_second_one(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    pause(world)
    pause(world)
    assert len(world.messages()) == 1


def test_a_pause_that_reaches_no_server_is_set_all_the_same_and_says_so(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    for server in ("Server_s_8098", "Server_s_8099"):
        world.memory.delete(paths.live_instance(server))
    answer = pause(world)
    assert answer["pauseFlag"] is True
    assert answer["notReached"] == answer["consumingSegments"] == world.consuming
    assert world.pause.paused


@pytest.mark.parametrize("name", ["u", "u_REALTIME"])
def test_an_unknown_table_is_not_found_by_its_typed_name(tmp_path: Path, name: str) -> None:
    world = RealtimeWorld(tmp_path)
    with pytest.raises(NotFound, match="Table u_REALTIME not found!"):
        consumption.pause_status(world.ctx, realtime_table(name))


def test_an_offline_name_means_a_realtime_table_of_that_name(tmp_path: Path) -> None:
    assert realtime_table("t_OFFLINE") == TableName("t_OFFLINE", REALTIME)


# -- resume


def test_a_resume_goes_on_where_each_partition_stopped_in_one_write(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    old = world.consuming
    pause(world)
    world.commit("150")
    world.streams.topics["a"] = {0: [100, 500], 1: [100, 500]}
    store = FaultyStore(world.memory)
    answer = consumption.resume_table(world.over(store), TABLE, actor=ANN)
    assert len(store.writes) == 1
    assert answer["pauseFlag"] is False
    assert answer["consumingSegments"] == world.consuming
    assert [parse_llc_name(s).sequence for s in world.consuming] == [1, 1]
    assert starts(world) == {0: "150", 1: "150"}
    assert world.ideal.simple["isTablePaused"] == "false"
    assert all(set(world.ideal.maps[s].values()) == {"ONLINE"} for s in old)
    assert read_data_loss(world.memory, TABLE.typed) == []


def test_offsets_that_left_the_stream_are_a_loss_on_record(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    pause(world)
    world.commit("150").streams.topics["a"] = {0: [200, 500]}
    resume(world)
    assert starts(world) == {0: "200"}
    [loss] = read_data_loss(world.memory, TABLE.typed)
    assert (loss.partition, loss.start, loss.end, loss.segment) == (0, "150", "200", world.consuming[0])


def test_a_resume_leaves_running_partitions_alone(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    before = {s: world.fields(s) for s in world.consuming}
    assert resume(world, StartFrom("smallest"))["pauseFlag"] is False
    assert {s: world.fields(s) for s in world.consuming} == before


def test_a_resume_without_the_stream_goes_on_from_what_is_committed(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    pause(world)
    world.commit("150").streams.is_down = True
    resume(world)
    assert starts(world) == {0: "150", 1: "150"}


def test_a_resume_that_needs_the_stream_changes_nothing_while_it_is_down(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    pause(world)
    world.commit("150").streams.is_down = True
    before = world.ideal
    with pytest.raises(Unavailable):
        resume(world, StartFrom("largest"))
    assert world.ideal == before


def test_a_resume_with_too_few_servers_leaves_the_table_paused(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    pause(world)
    world.commit("150")
    world.memory.delete(paths.participant("Server_s_8099"))
    with pytest.raises(StateConflict, match="2 replicas"):
        resume(world)
    assert world.pause.paused


def test_a_stream_changed_while_paused_is_read_after_the_resume(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    pause(world)
    world.commit("150").streams.topics["other"] = {0: [3, 9], 1: [0, 0]}
    config = config_of(stream={"stream.memory.topic.name": "other"})
    tables.update_table(world.ctx, "t", config, actor=ANN)
    resume(world, StartFrom("smallest"))
    assert starts(world) == {0: "3", 1: "0"}


def test_offsets_by_hand_win_over_the_word(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    pause(world)
    world.commit("150").streams.topics["a"] = {0: [0, 500], 1: [0, 500]}
    resume(world, StartFrom("lastConsumed", {1: "170"}))
    assert starts(world) == {0: "150", 1: "170"}
    resume(world, StartFrom("lastConsumed", {1: "170"}))
    with pytest.raises(StateConflict, match=r"\[1\]"):
        resume(world, StartFrom("lastConsumed", {1: "180"}))


def test_an_offset_that_is_none_changes_nothing(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    pause(world)
    world.commit("150")
    with pytest.raises(InvalidInput):
        resume(world, StartFrom("lastConsumed", {0: "abc"}))
    assert world.pause.paused
    assert world.consuming == []


def test_a_plan_reports_what_is_skipped_and_what_is_repeated_and_writes_nothing(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=3)
    pause(world)
    world.commit("150").streams.topics["a"] = {0: [0, 500], 1: [0, 500], 2: [160, 500]}
    before = world.ideal
    plan = {p.partition: p for p in plan_resume(world.ctx, TABLE, StartFrom("lastConsumed", {0: "170", 1: "900"}))}
    assert world.ideal == before
    assert (plan[0].last_consumed, plan[0].start, plan[0].skipped, plan[0].repeated) == ("150", "170", 20, 0)
    assert "ends at 500" in plan[1].note
    assert (plan[2].start, plan[2].skipped) == ("160", 10)
    assert "left the stream" in plan[2].note
    back = {p.partition: p for p in plan_resume(world.ctx, TABLE, StartFrom("smallest"))}
    assert (back[0].repeats, back[0].repeated, back[0].skips) == (True, 150, False)


# -- topics and partitions


def test_one_topic_pauses_alone_and_stays_so_over_a_table_pause(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, topics=2, partitions=1)
    answer = consumption.pause_topics(world.ctx, TABLE, [1], actor=ANN)
    assert (answer["paused"], answer["indexOfInactiveTopics"], answer["timeInMillis"]) == (
        False,
        [1],
        "2023-11-14 22:13:20.0",
    )
    [message] = world.messages()
    assert [parse_llc_name(s).partition for s in message.simple["segmentNames"].split(",")] == [10000]
    assert "isTablePaused" not in world.ideal.simple
    world.commit("5")
    resume(world)
    assert starts(world) == {0: "5"}
    pause(world)
    world.commit("6")
    resume(world)
    assert starts(world) == {0: "6"}
    assert world.pause.inactive_topics == (1,)
    consumption.resume_topics(world.ctx, TABLE, [1], actor=ANN)
    assert starts(world) == {0: "6", 10000: "5"}


def test_the_only_topic_of_a_table_stays_paused_too(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    consumption.pause_topics(world.ctx, TABLE, [0], actor=ANN)
    world.commit("5")
    keep_consumption(world.ctx)
    assert world.consuming == []


def test_a_single_partition_pauses_and_resumes(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    answer = consumption.pause_partitions(world.ctx, TABLE, [1], comment="slow", actor=ANN)
    assert (answer["pauseFlag"], answer["pausedPartitions"], answer["comment"]) == (False, [1], "slow")
    world.commit("5")
    keep_consumption(world.ctx)
    assert starts(world) == {0: "5"}
    consumption.resume_partitions(world.ctx, TABLE, [1], actor=ANN)
    assert starts(world) == {0: "5", 1: "5"}
    with pytest.raises(InvalidInput, match="no partition 7"):
        consumption.pause_partitions(world.ctx, TABLE, [7], actor=ANN)


# -- races


def test_a_commit_that_lands_during_a_resume_is_not_written_over(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    pause(world)
    store = FaultyStore(world.memory, Plan(before={1: lambda: world.commit("150")}))
    consumption.resume_table(world.over(store), TABLE, actor=ANN)
    assert starts(world) == {0: "150"}
    assert len(store.writes) == 2


def test_of_a_pause_and_a_resume_at_once_the_later_one_holds(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    world.commit("150")
    store = FaultyStore(world.memory, Plan(before={1: lambda: pause(world)}))
    consumption.resume_table(world.over(store), TABLE, actor=ANN)
    assert not world.pause.paused
    assert len(world.consuming) == 2


def test_a_pause_repeated_while_its_planned_end_comes_holds(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    pause(world, resume_at_ms=world.now + 60_000)
    world.commit("5")
    world.now += 60_000
    store = FaultyStore(world.memory, Plan(before={1: lambda: pause(world, comment="for longer")}))
    assert keep_consumption(world.over(store)) == []
    assert (world.pause.paused, world.pause.comment, world.consuming) == (True, "for longer", [])


def test_a_pause_during_a_resume_of_many_partitions_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They do not all fit into the transaction that removes the flag."""
    monkeypatch.setattr("segments.services.realtime.consuming_segments._PER_TRANSACTION", 2)
    world = RealtimeWorld(tmp_path, partitions=3)
    pause(world)
    world.commit("5")
    store = FaultyStore(world.memory, Plan(before={2: lambda: pause(world, comment="again")}))
    consumption.resume_table(world.over(store), TABLE, actor=ANN)
    assert (world.pause.paused, world.pause.comment, len(world.consuming)) == (True, "again", 2)
