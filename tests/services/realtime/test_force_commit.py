"""Force commit as a use case: targets, the job on record, batches, asking again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from segments.clusters.embedded.realtime.force_commit import keep_jobs
from segments.domain.realtime.force_commit import BatchSettings, ForceCommitJob, in_rounds, job_of
from segments.errors import InvalidInput
from segments.services.realtime.force_commit import Wanted, force_commit, job_status, read_jobs
from segments.services.tables.tables import set_table_enabled
from segments.store import paths
from segments.store.records import messages
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld

pytestmark = pytest.mark.django_db


def commit(world: RealtimeWorld, wanted: Wanted | None = None, batch: BatchSettings | None = None) -> str:
    answer = force_commit(world.ctx, TABLE, wanted or Wanted(), batch or BatchSettings(), actor=ANN)
    assert (answer["forceCommitStatus"], answer["jobMetaZKWriteStatus"]) == ("SUCCESS", "SUCCESS")
    return str(answer["forceCommitJobId"])


def asked(world: RealtimeWorld) -> list[str]:
    """What the server was asked to commit; read messages are gone afterwards."""
    names: list[str] = []
    for message in world.messages():
        names += message.simple["segmentNames"].split(",")
        messages.delete(world.memory, message)
    return names


def test_all_consuming_segments_are_asked_for_and_the_job_counts_them_down(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    first, second = world.consuming
    job = commit(world)
    status = job_status(world.ctx, job)
    assert (status["jobId"], status["tableName"], status["jobType"]) == (job, TABLE.typed, "FORCE_COMMIT")
    assert json.loads(status["segmentsForceCommitted"]) == [first, second]
    assert status["submissionTimeMs"] == str(world.now)
    assert (status["segmentsYetToBeCommitted"], status["numberOfSegmentsYetToBeCommitted"]) == ([first, second], 2)
    assert asked(world) == [first, second]
    world.done(first, "9")
    assert job_status(world.ctx, job)["segmentsYetToBeCommitted"] == [second]
    record = world.memory.get(paths.FORCE_COMMIT_JOBS)
    assert record is not None
    assert record.record is not None
    assert record.record.id == "/CONTROLLER_JOBS/FORCE_COMMIT"
    assert json.loads(record.record.maps[job]["segmentsYetToBeCommitted"]) == [second]
    world.done(second, "9")
    assert job_status(world.ctx, job)["numberOfSegmentsYetToBeCommitted"] == 0


def test_a_segment_whose_record_is_gone_counts_as_committed(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    job = commit(world)
    world.memory.delete(paths.segment(TABLE.typed, world.consuming[0]))
    assert job_status(world.ctx, job)["numberOfSegmentsYetToBeCommitted"] == 0


def test_only_the_partitions_or_segments_named_are_asked_for(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    first, second = world.consuming
    commit(world, Wanted(partitions=[1]))
    assert asked(world) == [second]
    commit(world, Wanted(segments=[first, "nonExisting"]))
    assert asked(world) == [first]


def test_a_segment_that_is_not_there_makes_an_empty_job(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    status = job_status(world.ctx, commit(world, Wanted(segments=["nonExisting"])))
    assert (status["segmentsForceCommitted"], status["numberOfSegmentsYetToBeCommitted"]) == ("[]", 0)
    assert asked(world) == []


def test_partitions_that_nothing_consumes_are_refused_by_number(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    with pytest.raises(InvalidInput, match="Cannot find segments to commit for partitions: 7"):
        force_commit(world.ctx, TABLE, Wanted(partitions=[7]), BatchSettings(), actor=ANN)
    assert asked(world) == read_jobs(world.ctx) == []


def test_partitions_and_segments_do_not_go_together() -> None:
    with pytest.raises(InvalidInput, match="not both"):
        Wanted(partitions=[0], segments=["s"])


@pytest.mark.parametrize("wrong", [{"size": 0}, {"interval_s": -1}, {"timeout_s": 0}])
def test_batch_values_are_above_zero(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match="Invalid batch config"):
        BatchSettings(**wrong)


def test_the_servers_are_asked_again_until_the_job_is_done(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    [segment] = world.consuming
    commit(world)
    assert asked(world) == [segment]
    keep_jobs(world.ctx)
    assert asked(world) == [segment]
    world.commit()
    keep_jobs(world.ctx)
    assert asked(world) == []
    assert read_jobs(world.ctx)[0].is_done


def test_a_commit_that_takes_longer_than_an_hour_is_still_asked_for(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    [segment] = world.consuming
    commit(world)
    assert asked(world) == [segment]
    world.now += 7 * 3_600_000
    assert keep_jobs(world.ctx) == [f"Force commit {read_jobs(world.ctx)[0].id} of {TABLE} waits for 1 segment."]
    assert asked(world) == [segment]


def test_a_job_rests_while_its_table_is_disabled_and_goes_on_afterwards(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    commit(world)
    asked(world)
    set_table_enabled(world.ctx, TABLE, False, actor=ANN)
    assert keep_jobs(world.ctx) == []
    assert (asked(world), caplog.records) == ([], [])
    set_table_enabled(world.ctx, TABLE, True, actor=ANN)
    keep_jobs(world.ctx)
    assert asked(world) == world.consuming


def test_an_unfinished_job_is_not_forgotten_for_newer_ones_that_are_done(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    unfinished = commit(world)
    for _ in range(103):
        world.now += 1
        commit(world, Wanted(segments=["nonExisting"]))
    assert unfinished in [j.id for j in read_jobs(world.ctx)]


def test_the_next_batch_follows_when_the_last_one_is_committed(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=3)
    first, second, third = world.consuming
    commit(world, batch=BatchSettings(size=1, interval_s=2, timeout_s=60))
    assert asked(world) == [first]
    world.done(first, "9").set_row(first, "ONLINE")
    keep_jobs(world.ctx)
    assert asked(world) == []
    world.now += 2000
    keep_jobs(world.ctx)
    assert asked(world) == [second]
    world.now += 59_000
    keep_jobs(world.ctx)
    assert asked(world) == [second]
    world.now += 1000
    keep_jobs(world.ctx)
    assert sorted(asked(world)) == [second, third]
    [job] = read_jobs(world.ctx)
    assert job.late == (second,)


@pytest.mark.parametrize("batch", [BatchSettings(), BatchSettings(size=3), BatchSettings(size=100)])
def test_a_batch_that_is_not_smaller_than_the_job_is_all_of_it(tmp_path: Path, batch: BatchSettings) -> None:
    world = RealtimeWorld(tmp_path, partitions=3)
    commit(world, batch=batch)
    assert [m.simple["segmentNames"] for m in world.messages()] == [",".join(world.consuming)]


def test_a_paused_table_has_nothing_to_commit(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path).commit()
    assert job_status(world.ctx, commit(world))["numberOfSegmentsYetToBeCommitted"] == 0


def test_a_hundred_jobs_are_kept(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    jobs = []
    for _ in range(103):
        world.now += 1
        jobs.append(commit(world))
    assert [j.id for j in read_jobs(world.ctx)] == jobs[3:]


def test_a_job_that_a_real_pinot_wrote_is_understood() -> None:
    fields = {
        "jobId": "j",
        "tableName": "t_REALTIME",
        "jobType": "FORCE_COMMIT",
        "submissionTimeMs": "5",
        "segmentsForceCommitted": '["a","b"]',
    }
    assert job_of(fields).pending == ("a", "b")
    assert job_of({**fields, "segmentsYetToBeCommitted": "[]"}).is_done


def test_a_job_survives_its_record() -> None:
    job = ForceCommitJob(
        "j", "t_REALTIME", 5, ("a", "b"), ("b",), BatchSettings(1, 2, 3), sent=1, sent_ms=7, late=("b",)
    )
    assert job_of(job.to_fields()) == job


def test_batches_burden_the_servers_alike() -> None:
    assert in_rounds({"s1": ["a", "b", "c"], "s2": ["b", "d"]}) == ["a", "b", "c", "d"]
    assert in_rounds({"s1": ["a", "b"], "s2": ["c", "d"]}) == ["a", "c", "b", "d"]
    assert in_rounds({}) == []


def test_a_replica_that_is_online_already_is_not_asked(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    [segment] = world.consuming
    path = paths.ideal_state(TABLE.typed)
    node = world.memory.get(path)
    assert node is not None
    assert node.record is not None
    node.record.maps[segment]["Server_s_8098"] = "ONLINE"
    world.memory.replace(path, node.record, node.version)
    commit(world)
    assert asked(world) == []
    assert len(world.messages("Server_s_8099")) == 1
