"""A pauseless commit over stored state: what its start and its end leave in ZooKeeper, and what switching it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.clusters.embedded.realtime.completion.commit_end import end_writes
from segments.clusters.embedded.realtime.completion.commit_start import MOST_COMMITTING
from segments.clusters.embedded.realtime.completion.committing_list import committing_segments, listed_segments
from segments.clusters.embedded.realtime.completion.completion_actions import built_of
from segments.domain.realtime.completion import Kind
from segments.domain.realtime.completion.machine import CAP_MS
from segments.domain.realtime.llc_name import parse_llc_name
from segments.domain.segments.ideal_state import external_view
from segments.services.tables import tables
from segments.store import paths
from segments.store.update import update_record, update_transaction
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld, config_of
from tests.services.spoken import Spoken, built

pytestmark = pytest.mark.django_db


def config(*, is_pauseless: bool = True, **more: Any) -> dict[str, Any]:
    return {
        "replication": 3,
        "segments": {"peerSegmentDownloadScheme": "http"},
        "streaming": {"pauselessConsumptionEnabled": is_pauseless},
        **more,
    }


def world_of(folder: Path, **more: Any) -> tuple[RealtimeWorld, Spoken]:
    world = RealtimeWorld(folder, partitions=1, servers=3, **config(**more))
    return world, Spoken(world.ctx, world.segments(0)[0])


def newest(world: RealtimeWorld) -> Spoken:
    return Spoken(world.ctx, world.segments(0)[-1])


def switch(world: RealtimeWorld, *, is_pauseless: bool) -> None:
    tables.update_table(world.ctx, "t_REALTIME", config_of(**config(is_pauseless=is_pauseless)), actor=ANN)


def statuses(world: RealtimeWorld) -> list[str]:
    return [world.fields(s)["segment.realtime.status"] for s in world.segments(0)]


def test_the_start_opens_the_next_segment_and_the_end_brings_the_facts(tmp_path: Path) -> None:
    world, talk = world_of(tmp_path)
    talk.uploading()
    old, new = world.segments(0)
    fields = world.fields(old)
    assert (fields["segment.realtime.status"], fields["segment.realtime.endOffset"]) == ("COMMITTING", "40")
    assert not {"segment.crc", "segment.download.url", "segment.total.docs"} & set(fields)
    assert world.fields(new)["segment.realtime.startOffset"] == "40"
    assert set(world.ideal.maps[old].values()) == {"ONLINE"}
    assert set(world.ideal.maps[new].values()) == {"CONSUMING"}
    assert committing_segments(world.memory, TABLE) == [old]
    assert talk.consumed(2, 40) == ("KEEP", "40")
    assert talk.end(1, 40) == "COMMIT_SUCCESS"
    fields = world.fields(old)
    assert (fields["segment.realtime.status"], fields["segment.realtime.endOffset"]) == ("DONE", "40")
    assert fields["segment.crc"] == str(built(old).crc)
    assert listed_segments(world.memory, TABLE) == []
    assert world.memory.get(paths.completion(TABLE.typed, old)) is None


def test_messages_of_a_committer_may_be_repeated(tmp_path: Path) -> None:
    world, talk = world_of(tmp_path)
    talk.uploading()
    before = world.ideal
    assert talk.start(1, 40) == "COMMIT_CONTINUE"
    assert world.ideal == before
    assert [talk.end(1, 40), talk.end(1, 40)] == ["COMMIT_SUCCESS", "COMMIT_SUCCESS"]
    assert len(world.records) == 2


def test_a_commit_whose_round_is_lost_goes_on_at_its_end(tmp_path: Path) -> None:
    world, talk = world_of(tmp_path)
    talk.uploading()
    world.memory.delete(paths.completion(TABLE.typed, talk.segment))
    assert talk.consumed(2, 50) == ("DISCARD", None)
    assert talk.consumed(3, 30) == ("CATCH_UP", "40")
    assert talk.consumed(2, 40) == ("COMMIT", "40")
    assert talk.start(2, 40) == "COMMIT_CONTINUE"
    assert talk.end(2, 40) == "COMMIT_SUCCESS"


def test_a_start_of_which_only_the_record_was_written_is_continued(tmp_path: Path) -> None:
    """As Pinot leaves it when its controller dies between its writes."""
    world, talk = world_of(tmp_path)
    world.set_record(talk.segment, segment_realtime_status="COMMITTING", segment_realtime_endOffset="40")
    assert talk.consumed(1, 40) == ("COMMIT", "40")
    assert talk.start(1, 40) == "COMMIT_CONTINUE"
    assert statuses(world) == ["COMMITTING", "IN_PROGRESS"]
    assert set(world.ideal.maps[talk.segment].values()) == {"ONLINE"}
    assert talk.end(1, 40) == "COMMIT_SUCCESS"


def test_a_paused_table_commits_and_consumes_nothing_more(tmp_path: Path) -> None:
    world, talk = world_of(tmp_path)
    world.change_ideal(pauseState='{"paused":true}')
    talk.committed()
    assert world.segments(0) == world.records == [talk.segment]


def test_only_so_many_segments_of_a_partition_are_committed_at_a_time(tmp_path: Path) -> None:
    world, talk = world_of(tmp_path)
    first = talk
    for number in range(1, MOST_COMMITTING + 1):
        talk.uploading(1, 40 * number)
        talk = newest(world)
    end = 40 * MOST_COMMITTING + 40
    assert talk.consumed(1, end, "rowLimit") == ("HOLD", str(end))
    assert first.end(1, 40) == "COMMIT_SUCCESS"
    talk.uploading(1, end)


def test_commits_that_are_left_to_the_repair_keep_nobody_waiting(tmp_path: Path) -> None:
    world, talk = world_of(tmp_path)
    for number in range(1, MOST_COMMITTING + 1):
        talk.uploading(1, 40 * number)
        talk = newest(world)
    world.now += CAP_MS + 1
    talk.uploading(1, 40 * MOST_COMMITTING + 40)


def test_segments_that_no_server_has_any_more_keep_nobody_waiting(tmp_path: Path) -> None:
    world, talk = world_of(tmp_path)
    started, path = [], paths.external_view(TABLE.typed)
    for number in range(1, MOST_COMMITTING + 1):
        talk.uploading(1, 40 * number)
        started.append(talk.segment)
        talk = newest(world)
    end = 40 * MOST_COMMITTING + 40
    for state, told in (("ERROR", "COMMIT"), ("ONLINE", "HOLD")):
        view = external_view(world.ideal, {s: dict.fromkeys(world.ideal.maps[s], state) for s in started})
        update_record(world.memory, path, lambda _, view=view: view)
        assert talk.consumed(1, end, "rowLimit")[0] == told
        if told == "COMMIT":
            assert talk.start(1, end) == "COMMIT_CONTINUE"
            talk, end = newest(world), end + 40


def test_a_tuned_row_limit_is_learned_from_the_last_segment_that_is_committed(tmp_path: Path) -> None:
    stream = {
        "realtime.segment.flush.threshold.rows": "0",
        "realtime.segment.flush.threshold.segment.rows": "0",
        "realtime.segment.flush.threshold.segment.size": "200M",
    }
    world, talk = world_of(tmp_path, stream=stream)
    talk.uploading()
    assert world.fields(world.segments(0)[1])["segment.flush.threshold.size"] == "100000"
    assert talk.end(1, 40, docs=10) == "COMMIT_SUCCESS"
    newest(world).uploading(1, 80)
    assert world.fields(world.segments(0)[2])["segment.flush.threshold.size"] == "10000"


def test_whoever_has_the_file_ends_a_commit_that_has_started(tmp_path: Path) -> None:
    """As a repair or a reingestion does."""
    world, talk = world_of(tmp_path)
    talk.uploading()
    path = paths.segment(TABLE.typed, talk.segment)

    def decide() -> list[Any]:
        segment = world.memory.get(path)
        assert segment is not None
        facts = built_of(parse_llc_name(talk.segment), "40", built(talk.segment), 1000)
        return end_writes(world.ctx, TABLE, segment, facts, "")

    update_transaction(world.memory, decide)
    assert statuses(world) == ["DONE", "IN_PROGRESS"]
    assert listed_segments(world.memory, TABLE) == []
    assert talk.end(1, 40) == "COMMIT_SUCCESS"


@pytest.mark.parametrize("is_pauseless", [True, False])
def test_a_round_keeps_its_protocol_when_the_table_is_switched_in_the_middle(
    tmp_path: Path, *, is_pauseless: bool
) -> None:
    world, talk = world_of(tmp_path, is_pauseless=is_pauseless)
    assert talk.consumed(1, 40, "rowLimit")[0] == "COMMIT"
    switch(world, is_pauseless=not is_pauseless)
    assert talk.start(1, 40) == "COMMIT_CONTINUE"
    assert statuses(world)[0] == ("COMMITTING" if is_pauseless else "IN_PROGRESS")
    assert talk.end(1, 40) == "COMMIT_SUCCESS"
    following = newest(world)
    following.uploading(1, 80)
    assert world.fields(following.segment)["segment.realtime.status"] == (
        "IN_PROGRESS" if is_pauseless else "COMMITTING"
    )
    assert following.end(1, 80) == "COMMIT_SUCCESS"


def test_the_rollback_procedure_leaves_no_commit_behind(tmp_path: Path) -> None:
    """Switch off while segments are being committed, let them end, and the next ones follow the standard protocol."""
    world, talk = world_of(tmp_path)
    talk.uploading()
    second = newest(world).uploading(1, 80)
    switch(world, is_pauseless=False)
    assert second.end(1, 80) == "COMMIT_SUCCESS"
    assert talk.end(1, 40) == "COMMIT_SUCCESS"
    assert committing_segments(world.memory, TABLE) == []
    third = newest(world).uploading(1, 120)
    assert statuses(world) == ["DONE", "DONE", "IN_PROGRESS"]
    assert third.end(1, 120) == "COMMIT_SUCCESS"
    assert statuses(world) == ["DONE", "DONE", "DONE", "IN_PROGRESS"]


def test_a_build_gets_more_time_once_the_commit_has_started(tmp_path: Path) -> None:
    _, talk = world_of(tmp_path)
    assert talk.consumed(1, 40, "rowLimit")[0] == "COMMIT"
    assert talk.say(Kind.EXTEND, 1, 40).status.value == "FAILED"
    assert talk.start(1, 40) == "COMMIT_CONTINUE"
    assert talk.say(Kind.EXTEND, 1, 40, extra_s=120).status.value == "PROCESSED"
