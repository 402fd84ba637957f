"""The completion protocol over stored state: what each message leaves in ZooKeeper, and what it must not touch."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from segments.clusters.embedded.realtime.completion import protocol as completion
from segments.domain.realtime.completion import Kind, Status
from segments.domain.realtime.llc_name import parse_llc_name
from segments.errors import InvalidInput, NotFound, Unavailable
from segments.segmentfile.format.crc import NO_CRC
from segments.services.tables import tables
from segments.store import paths
from segments.store.base import Versioned
from segments.store.memory import MemoryStore
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld
from tests.services.spoken import START_MS, Spoken, built, instance

pytestmark = pytest.mark.django_db
HOUR = 3_600_000


def machine(world: RealtimeWorld, segment: str) -> Versioned | None:
    return world.memory.get(paths.completion(TABLE.typed, segment))


def stored(world: RealtimeWorld) -> dict[str, Versioned | None]:
    """Everything that a commit changes."""
    names = [paths.ideal_state(TABLE.typed), *(paths.segment(TABLE.typed, s) for s in world.records)]
    return {name: world.memory.get(name) for name in names}


def test_a_whole_commit(world: RealtimeWorld, talk: Spoken) -> None:
    assert talk.consumed(1, 20) == ("HOLD", "20")
    assert talk.consumed(2, 40) == ("HOLD", "40")
    assert talk.consumed(3, 30) == ("CATCH_UP", "40")
    told = talk.say(Kind.CONSUMED, 2, 40)
    assert (told.status, told.build_time_s, told.controller) == (Status.COMMIT, 126, "http://127.0.0.1:9000")
    assert talk.start(2, 40) == "COMMIT_CONTINUE"
    assert world.fields(talk.segment)["segment.realtime.status"] == "IN_PROGRESS"
    assert talk.end(2, 40) == "COMMIT_SUCCESS"
    done, following = world.fields(talk.segment), world.segments(0)[1]
    info = built(talk.segment)
    assert {k: done[k] for k in done if k != "segment.creation.time"} == {
        "segment.realtime.status": "DONE", "segment.realtime.startOffset": "0", "segment.realtime.endOffset": "40",
        "segment.realtime.numReplicas": "3", "segment.flush.threshold.size": "1000", "segment.crc": str(info.crc),
        "segment.data.crc": str(info.data_crc), "segment.use.data.crc": "true", "segment.total.docs": "10",
        "segment.size.in.bytes": "1000", "segment.index.version": "v3", "segment.start.time": str(START_MS),
        "segment.end.time": str(START_MS + 9), "segment.time.unit": "MILLISECONDS", "segment.download.url": "",
    }  # fmt: skip
    assert set(world.ideal.maps[talk.segment].values()) == {"ONLINE"}
    assert world.ideal.maps[following] == {instance(i): "CONSUMING" for i in (1, 2, 3)}
    assert parse_llc_name(following).sequence == 1
    assert world.fields(following) == {
        "segment.creation.time": str(world.now),
        "segment.flush.threshold.size": "1000",
        "segment.realtime.numReplicas": "3",
        "segment.realtime.startOffset": "40",
        "segment.realtime.status": "IN_PROGRESS",
    }
    assert machine(world, talk.segment) is None
    assert talk.consumed(1, 40) == ("KEEP", "40")
    assert talk.consumed(3, 50) == ("DISCARD", None)
    assert machine(world, talk.segment) is None


def test_any_process_answers_any_message(world: RealtimeWorld, talk: Spoken) -> None:
    """Each message meets a process that has never heard of the segment."""

    def fresh() -> Spoken:
        return Spoken(world.over(MemoryStore(world.memory.tree)), talk.segment)

    assert fresh().consumed(1, 20, "rowLimit")[0] == "COMMIT"
    assert fresh().consumed(2, 10) == ("CATCH_UP", "20")
    assert fresh().start(1, 20) == "COMMIT_CONTINUE"
    assert fresh().end(1, 20) == "COMMIT_SUCCESS"
    assert fresh().consumed(2, 20) == ("KEEP", "20")


@pytest.mark.parametrize(
    "pause",
    ['{"paused":true}', '{"paused":false,"pausedPartitions":[0]}', '{"paused":false,"indexOfInactiveTopics":[0]}'],
)
def test_nothing_new_consumes_where_consumption_is_paused(world: RealtimeWorld, talk: Spoken, pause: str) -> None:
    world.change_ideal(pauseState=pause)
    talk.committed()
    assert world.segments(0) == world.records == [talk.segment]
    assert set(world.ideal.maps[talk.segment].values()) == {"ONLINE"}


def test_an_empty_segment_is_committed_where_it_began(world: RealtimeWorld, talk: Spoken) -> None:
    world.change_ideal(pauseState='{"paused":true}')
    talk.committed(offset=0, docs=0)
    fields = world.fields(talk.segment)
    assert fields["segment.realtime.endOffset"] == "0"
    assert fields["segment.start.time"] == fields["segment.end.time"] == str(world.now)


def test_the_end_of_a_partition_has_no_successor(world: RealtimeWorld, talk: Spoken) -> None:
    assert talk.consumed(1, 40, "endOfPartitionGroup")[0] == "COMMIT"
    assert talk.start(1, 40) == "COMMIT_CONTINUE"
    assert talk.end(1, 40) == "COMMIT_SUCCESS"
    assert world.segments(0) == [talk.segment]


def test_the_same_sequence_twice_is_refused_and_leaves_nothing(world: RealtimeWorld, talk: Spoken) -> None:
    other = "t__0__1__20200101T0000Z"
    row = world.ideal.maps[talk.segment]
    path = paths.ideal_state(TABLE.typed)
    node = world.memory.get(path)
    assert node is not None
    assert node.record is not None
    world.memory.replace(path, replace(node.record, maps={**node.record.maps, other: row}), node.version)
    talk.uploading()
    before = stored(world)
    assert talk.end(1, 40) == "FAILED"
    assert stored(world) == before
    assert talk.consumed(2, 40, "rowLimit")[0] == "COMMIT"  # the round is over, another may try


def test_a_name_of_a_former_life_is_passed_over(world: RealtimeWorld, talk: Spoken) -> None:
    following = parse_llc_name(talk.segment).next(world.now).text
    world.memory.create(paths.segment(TABLE.typed, following), None)
    talk.committed()
    assert parse_llc_name(world.segments(0)[1]).creation_ms - parse_llc_name(following).creation_ms == 60_000


def test_a_repeated_commit_end_succeeds_and_changes_nothing(world: RealtimeWorld, talk: Spoken) -> None:
    talk.committed()
    before = stored(world)
    assert talk.end(1, 40) == "COMMIT_SUCCESS"
    assert talk.end(1, 41) == "FAILED"
    assert talk.end(1, 40, docs=11) == "FAILED"
    assert stored(world) == before


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "t__0__7__20231114T2213Z"},
        {"name": "other__0__0__20231114T2213Z"},
        {"table": "other"},
        {"crc": NO_CRC},
        {"realtime_end_offset": "41"},
    ],
)
def test_files_of_something_else_are_refused_without_harm(
    world: RealtimeWorld, talk: Spoken, wrong: dict[str, object]
) -> None:
    talk.uploading()
    before = stored(world)
    assert talk.end(1, 40, info=replace(built(talk.segment), **wrong)) == "FAILED"  # type: ignore[arg-type]
    assert stored(world) == before
    assert talk.end(1, 40) == "COMMIT_SUCCESS"


@pytest.mark.parametrize(("server", "offset"), [(2, 40), (1, 41), (1, 39)])
def test_a_stray_commit_end_is_refused_without_harm(
    world: RealtimeWorld, talk: Spoken, server: int, offset: int
) -> None:
    talk.uploading()
    before = (stored(world), machine(world, talk.segment))
    assert talk.end(server, offset) == "FAILED"
    assert (stored(world), machine(world, talk.segment)) == before
    assert talk.end(1, 40) == "COMMIT_SUCCESS"


def test_a_replica_that_stops_leaves_the_ideal_state(world: RealtimeWorld, talk: Spoken) -> None:
    assert talk.say(Kind.STOPPED, 3, 30, reason="IAmLazy").status is Status.PROCESSED
    assert world.ideal.maps[talk.segment] == {
        instance(1): "CONSUMING",
        instance(2): "CONSUMING",
        instance(3): "OFFLINE",
    }
    assert talk.say(Kind.STOPPED, 3, 30, reason="IAmLazy").status is Status.PROCESSED
    assert talk.consumed(1, 20)[0] == "HOLD"
    assert talk.consumed(2, 20)[0] == "COMMIT"
    assert talk.start(2, 20) == "COMMIT_CONTINUE"
    assert talk.end(2, 20) == "COMMIT_SUCCESS"
    assert set(world.ideal.maps[talk.segment].values()) == {"ONLINE"}


def test_a_build_that_can_never_succeed_halves_the_limit_once(world: RealtimeWorld, talk: Spoken) -> None:
    world.set_record(talk.segment, segment_flush_threshold_size="100")
    assert talk.consumed(3, 20, "rowLimit")[0] == "COMMIT"
    assert talk.say(Kind.BUILD_FAILED, 3, rows=20).status is Status.PROCESSED
    assert world.fields(talk.segment)["segment.flush.threshold.size"] == "10"
    assert talk.say(Kind.BUILD_FAILED, 3, rows=20).status is Status.PROCESSED
    assert world.fields(talk.segment)["segment.flush.threshold.size"] == "10"
    assert talk.consumed(3, 10)[0] == "HOLD"
    assert [m.partition for m in world.messages()] == [talk.segment]  # every replica is asked to start again


def test_a_dead_committer_is_replaced_at_once(world: RealtimeWorld, talk: Spoken) -> None:
    """Its live node is gone; the next that reports commits."""
    talk.uploading(1, 40)
    assert talk.consumed(2, 40)[0] == "HOLD"
    world.memory.delete(paths.live_instance(instance(1)))
    assert talk.consumed(3, 30) == ("CATCH_UP", "40")
    assert talk.consumed(2, 40)[0] == "COMMIT"
    assert talk.end(1, 40) == "FAILED"
    assert talk.start(2, 40) == "COMMIT_CONTINUE"
    assert talk.end(2, 40) == "COMMIT_SUCCESS"


def test_nobody_waits_for_a_replica_whose_server_is_dead(world: RealtimeWorld, talk: Spoken) -> None:
    assert talk.consumed(1, 40, "timeLimit")[0] == "HOLD"
    world.memory.delete(paths.live_instance(instance(3)))
    assert talk.consumed(1, 40)[0] == "HOLD"
    assert talk.consumed(2, 30) == ("CATCH_UP", "40")
    assert talk.consumed(1, 40)[0] == "COMMIT"


def test_while_a_partition_moves_a_round_hears_the_server_that_it_leaves_too(
    world: RealtimeWorld, talk: Spoken
) -> None:
    """The record says how many replicas the table has, the ideal state who consumes: one more for a while."""
    world.set_record(talk.segment, segment_realtime_numReplicas="1")
    assert talk.consumed(1, 40, "forceCommitMessageReceived") == ("HOLD", "40")
    assert talk.consumed(2, 30) == ("HOLD", "30")
    assert talk.consumed(3, 40) == ("COMMIT", "40")


def test_a_replica_that_was_moved_away_in_the_middle_of_a_round_is_not_waited_for(
    world: RealtimeWorld, talk: Spoken
) -> None:
    assert talk.consumed(1, 40, "timeLimit") == ("HOLD", "40")
    path = paths.ideal_state(TABLE.typed)
    node = world.memory.get(path)
    assert node is not None
    assert node.record is not None
    row = {instance(1): "CONSUMING", instance(2): "CONSUMING"}
    world.memory.replace(path, replace(node.record, maps={**node.record.maps, talk.segment: row}), node.version)
    assert talk.consumed(2, 40) == ("COMMIT", "40")


def test_a_committer_that_restarted_alone_commits_what_it_has_then(world: RealtimeWorld, talk: Spoken) -> None:
    for server in (2, 3):
        world.memory.delete(paths.live_instance(instance(server)))
    talk.uploading(1, 40)
    path = paths.live_instance(instance(1))
    node = world.memory.get(path)
    assert node is not None
    assert node.record is not None
    world.memory.delete(path)
    world.memory.create(path, node.record.with_simple(SESSION_ID="another"))
    assert talk.consumed(1, 25, "timeLimit") == ("COMMIT", "25")


def test_a_committer_keeps_its_commit_over_a_new_session(world: RealtimeWorld, talk: Spoken) -> None:
    talk.uploading(1, 40)
    world.memory.delete(paths.live_instance(instance(1)))
    assert talk.end(1, 40) == "COMMIT_SUCCESS"


def test_servers_that_never_lived_are_not_taken_for_dead(world: RealtimeWorld, talk: Spoken) -> None:
    for server in (1, 2, 3):
        world.memory.delete(paths.live_instance(instance(server)))
    talk.uploading(1, 40)
    assert talk.consumed(2, 40)[0] == "HOLD"
    assert talk.end(1, 40) == "COMMIT_SUCCESS"


def test_messages_that_change_nothing_write_nothing(world: RealtimeWorld, talk: Spoken) -> None:
    talk.consumed(1, 20)
    before = machine(world, talk.segment)
    assert talk.consumed(1, 20)[0] == "HOLD"
    assert talk.say(Kind.EXTEND, 1, 20).status is Status.FAILED
    assert talk.start(1, 20) == "HOLD"
    assert machine(world, talk.segment) == before


def test_unknown_segments_and_tables(world: RealtimeWorld, talk: Spoken) -> None:
    gone = Spoken(world.ctx, "t__0__9__20231114T2213Z")
    assert gone.consumed(1, 1)[0] == gone.end(1, 1) == "FAILED"
    stranger = Spoken(world.ctx, "u__0__0__20231114T2213Z")
    with pytest.raises(NotFound):
        stranger.consumed(1, 1)
    assert stranger.end(1, 1) == "FAILED"
    with pytest.raises(InvalidInput):
        talk.consumed(1, "x")
    with pytest.raises(InvalidInput):
        Spoken(world.ctx, "nonsense").consumed(1, 1)
    with pytest.raises(InvalidInput):
        completion.answer(world.ctx, completion.Received(Kind.CONSUMED, "../x", talk.segment, "1"))
    assert world.memory.children(paths.COMPLETION) == []


def test_who_cannot_be_answered_now_asks_again(world: RealtimeWorld, talk: Spoken) -> None:
    class Away(MemoryStore):
        def get_many(self, paths: object) -> list[Versioned | None]:
            raise Unavailable("ZooKeeper does not answer.")

    unanswered = Spoken(world.over(Away(world.memory.tree)), talk.segment)
    assert unanswered.consumed(1, 20) == ("NOT_LEADER", None)
    assert unanswered.start(1, 20) == "NOT_LEADER"


def test_a_dropped_table_leaves_no_machines(world: RealtimeWorld, talk: Spoken) -> None:
    talk.consumed(1, 20)
    world.memory.delete_tree(paths.LIVE_INSTANCES)
    tables.delete_table(world.ctx, TABLE, actor=ANN)
    assert world.memory.children(paths.COMPLETION) == []


def test_the_row_limit_follows_the_size_of_committed_segments(tmp_path: Path) -> None:
    flush = {"realtime.segment.flush.threshold.rows": "0", "realtime.segment.flush.threshold.segment.size": "10M"}
    stream = {"realtime.segment.flush.threshold.segment.rows": "0", **flush}
    world = RealtimeWorld(tmp_path, partitions=1, servers=1, replication=1, stream=stream)
    segment = world.segments(0)[0]
    assert world.fields(segment)["segment.flush.threshold.size"] == "100000"
    talk = Spoken(world.ctx, segment).uploading(1, 100_000)
    told = talk.say(
        Kind.COMMIT_END, 1, 100_000, location="peer:///x", size_bytes=10 << 20, rows=100_000, info=built(segment, 10)
    )
    assert told.status is Status.COMMIT_SUCCESS
    record = world.memory.get(paths.segment(TABLE.typed, segment))
    assert record is not None
    assert record.record is not None
    assert "pinotadmin.rowsPerByte" in json.dumps(record.record.maps)
    assert world.fields(world.segments(0)[1])["segment.flush.threshold.size"] == str(100_000 // 2)


def test_nobody_waits_for_a_replica_that_stopped_in_a_round_before(world: RealtimeWorld, talk: Spoken) -> None:
    assert talk.say(Kind.STOPPED, 3, 10).status is Status.PROCESSED
    assert talk.say(Kind.BUILD_FAILED, 1, rows=100).status is Status.PROCESSED
    assert talk.consumed(1, 20) == ("HOLD", "20")
    assert talk.consumed(2, 20) == ("COMMIT", "20")


@pytest.mark.parametrize("simple", [{"state": "DANCING"}, {"streamType": "kafka"}, {"replicas": "three"}])
def test_a_round_that_cannot_be_read_starts_over(world: RealtimeWorld, talk: Spoken, simple: dict[str, str]) -> None:
    """One damaged znode, or one about another stream, must not keep a partition from ever being committed."""
    talk.consumed(1, 20)
    node = machine(world, talk.segment)
    assert node is not None
    assert node.record is not None
    damaged = replace(node.record, simple={**node.record.simple, **simple})
    world.memory.replace(paths.completion(TABLE.typed, talk.segment), damaged, node.version)
    assert talk.consumed(1, 40) == ("HOLD", "40")
    assert talk.consumed(2, 40) == ("HOLD", "40")
    assert talk.consumed(3, 40) == ("COMMIT", "40")
