"""Ends in the background: requested once, finished by whoever checks, whatever died in between (rule
`all-replicas-first`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.replacement.end_job import END_JOB, KEPT_MS, JobState
from segments.errors import InvalidInput, NotFound, PreconditionFailed, StateConflict, Unavailable
from segments.models import AuditEvent
from segments.services.replacement.checks import snapshot_checks
from segments.services.replacement.ends import end_jobs
from segments.services.replacement.ends.end_job_record import all_jobs, find_job
from segments.services.replacement.ends.end_job_status import job_status
from segments.services.replacement.ends.end_jobs import advance, advance_all, cancel_job, follow, request_end
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.protocol import end_replace, revert_replace, start_replace
from segments.store import paths
from tests.faults.faulty import Cut, Fault, FaultyStore, Plan
from tests.services.replacement.either_cluster import SimulatedCluster
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Segment a is served; b is uploaded, but no server has loaded it."""
    return prepare(tmp_path)


def prepare(folder: Path) -> World:
    made = World(folder / "store").upload("a")
    start_replace(made.ctx, TABLE, ["a"], ["b"], actor=ANN, entry_id="open")
    return made.upload("b", online=False)


def test_a_job_waits_for_replicas_reports_how_many_and_switches_when_they_are_online(
    simulated: SimulatedCluster,
) -> None:
    entry, ctx = simulated.upload("a").start(["a"], ["b"]), simulated.ctx
    simulated.upload("b", online=False)
    job = request_end(ctx, TABLE, entry, actor=ANN)
    assert request_end(ctx, TABLE, entry, actor=ANN).id == job.id
    assert advance_all(ctx) == []
    status = job_status(ctx, job.id).to_json()
    assert (status["state"], status["replicasOnline"], status["replicasWanted"]) == ("RUNNING", 0, 1)
    assert status["missing"] == [
        {
            "segment": "b",
            "instance": "Server_a_1",
            "state": "OFFLINE",
            "why": "the server has not loaded it yet",
            "is_waited_for": True,
        }
    ]
    assert simulated.visible == ["a"]
    simulated.world.serve()
    assert "DONE" in advance_all(ctx)[0]
    assert (simulated.visible, find_job(ctx, job.id).state) == (["b"], JobState.DONE)
    assert job_status(ctx, job.id).to_json()["message"] == "Queries see the new segments."
    assert [(e.action, e.outcome) for e in simulated.events[1:]] == [
        ("requestEnd", "done"),
        ("endReplaceSegments", "done"),
    ]


def test_asking_again_gives_the_same_job(world: World) -> None:
    first = request_end(world.ctx, TABLE, "open", actor=ANN)
    assert request_end(world.ctx, TABLE, "open", actor=ANN).id == first.id
    world.serve()
    advance(world.ctx, first.id)
    assert request_end(world.ctx, TABLE, "open", actor=ANN).state is JobState.DONE
    assert len(all_jobs(world.ctx)) == 1


def test_an_entry_that_was_ended_by_hand_gives_a_job_that_is_done(world: World) -> None:
    world.serve()
    end_replace(world.ctx, TABLE, "open", actor=ANN)
    assert request_end(world.ctx, TABLE, "open", actor=ANN).state is JobState.DONE


def test_what_can_be_refused_at_once_is(world: World) -> None:
    start_replace(world.ctx, TABLE, [], ["c"], actor=ANN, entry_id="empty")
    with pytest.raises(PreconditionFailed, match="not uploaded"):
        request_end(world.ctx, TABLE, "empty", actor=ANN)
    with pytest.raises(InvalidInput, match="'z'"):
        request_end(world.ctx, TABLE, "open", segments_to=["z"], actor=ANN)
    with pytest.raises(NotFound, match="nope"):
        request_end(world.ctx, TABLE, "nope", actor=ANN)
    assert all_jobs(world.ctx) == []
    assert set(AuditEvent.objects.filter(action="requestEnd").values_list("outcome", flat=True)) == {"refused"}


def test_a_job_whose_segment_cannot_be_loaded_fails_with_the_servers_reason(world: World) -> None:
    job = request_end(world.ctx, TABLE, "open", actor=ANN)
    world.serve()
    world.breaks("b")
    world.memory.create(
        paths.participant("Server_a_1"),
        ZNRecord("Server_a_1", {"HELIX_HOST": "h", "HELIX_PORT": "1", "HELIX_ENABLED": "true"}),
    )
    status = job_status(world.ctx, job.id, lambda url, table: {"b": "its CRC is wrong"})
    assert status.to_json()["missing"][0]["why"] == "the server could not load it: its CRC is wrong"
    advance(world.ctx, job.id)
    failed = find_job(world.ctx, job.id)
    assert (failed.state, world.state("open")) == (JobState.FAILED, "IN_PROGRESS")
    assert "'b'" in failed.message
    world.serve()
    again = request_end(world.ctx, TABLE, "open", actor=ANN)
    assert again.id != job.id
    advance(world.ctx, again.id)
    assert world.visible == ["b"]


def test_a_job_gives_up_after_its_time_and_says_what_is_missing(world: World) -> None:
    job = request_end(world.ctx, TABLE, "open", actor=ANN)
    world.now += 3_600_001
    advance(world.ctx, job.id)
    failed = find_job(world.ctx, job.id)
    assert (failed.state, failed.online, failed.wanted) == (JobState.FAILED, 0, 1)
    assert "not online after 3600 s" in failed.message


def test_failed_checks_of_the_new_data_fail_the_job_and_an_override_passes_over_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, override: str, **__: Any) -> dict[str, str]:
        if not override:
            raise PreconditionFailed("The new snapshot has half of the rows.")
        return {}

    monkeypatch.setattr(snapshot_checks, "require_passed", refuse)
    world.serve()
    job = request_end(world.ctx, TABLE, "open", actor=ANN)
    advance(world.ctx, job.id)
    assert "half of the rows" in find_job(world.ctx, job.id).message
    forced = request_end(world.ctx, TABLE, "open", override="it is a holiday", actor=ANN)
    advance(world.ctx, forced.id)
    assert world.visible == ["b"]


def test_a_part_that_does_not_answer_leaves_the_job_running(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise Unavailable("ZooKeeper is away.")

    job = request_end(world.ctx, TABLE, "open", actor=ANN)
    world.serve()
    with monkeypatch.context() as patched:
        patched.setattr(end_jobs, "end_replace", away)
        advance(world.ctx, job.id)
    assert find_job(world.ctx, job.id).is_open
    advance(world.ctx, job.id)
    assert world.visible == ["b"]


def test_a_job_whose_entry_was_reverted_fails(world: World) -> None:
    job = request_end(world.ctx, TABLE, "open", actor=ANN)
    revert_replace(world.ctx, TABLE, "open", force=True, actor=ANN)
    advance(world.ctx, job.id)
    assert "reverted meanwhile" in find_job(world.ctx, job.id).message


def test_a_cancelled_job_leaves_the_entry_open_and_cannot_be_cancelled_twice(world: World) -> None:
    job = request_end(world.ctx, TABLE, "open", actor=ANN)
    cancel_job(world.ctx, job.id, ANN)
    world.serve()
    assert advance_all(world.ctx) == []
    assert (world.state("open"), world.visible) == ("IN_PROGRESS", ["a"])
    assert END_JOB not in observe(world.ctx, TABLE).lineage.entry("open").notes
    with pytest.raises(StateConflict, match="CANCELLED"):
        cancel_job(world.ctx, job.id, ANN)
    with pytest.raises(NotFound, match="nope"):
        cancel_job(world.ctx, "nope", ANN)


def test_a_job_that_is_cancelled_right_before_its_switch_does_not_switch(world: World) -> None:
    job = request_end(world.ctx, TABLE, "open", actor=ANN)
    world.serve()
    lock, switch = 1, 2
    racing = FaultyStore(world.memory, Plan(before={switch: lambda: cancel_job(world.ctx, job.id, ANN)}))
    advance(world.with_store(racing), job.id)
    assert len(racing.writes) > lock
    assert (world.state("open"), world.visible, find_job(world.ctx, job.id).state) == (
        "IN_PROGRESS",
        ["a"],
        JobState.CANCELLED,
    )


def test_a_cancel_right_after_the_switch_says_so(world: World) -> None:
    job = request_end(world.ctx, TABLE, "open", actor=ANN)
    world.serve()
    end_replace(world.ctx, TABLE, "open", actor=ANN)
    with pytest.raises(StateConflict, match="DONE"):
        cancel_job(world.ctx, job.id, ANN)
    assert find_job(world.ctx, job.id).state is JobState.DONE


def test_somebody_else_at_the_job_is_not_disturbed_and_a_dead_ones_lock_goes_with_its_session(world: World) -> None:
    job = request_end(world.ctx, TABLE, "open", actor=ANN)
    world.serve()
    other = world.memory.another_client()
    other.create(paths.job_lock(job.id), ZNRecord("other"), ephemeral=True)
    advance(world.ctx, job.id)
    assert world.visible == ["a"]
    other.close()
    advance(world.ctx, job.id)
    assert world.visible == ["b"]


def test_following_ends_when_the_job_does(world: World) -> None:
    job = request_end(world.ctx, TABLE, "open", actor=ANN)
    unfinished = follow(world.ctx, job.id, 0.0)
    assert unfinished is not None
    assert unfinished.is_open
    world.serve()
    done = follow(world.ctx, job.id, 5.0)
    assert done is not None
    assert done.state is JobState.DONE
    assert follow(world.ctx, "nope", 5.0) is None


def test_finished_jobs_are_forgotten_after_a_week(world: World) -> None:
    job = request_end(world.ctx, TABLE, "open", actor=ANN)
    world.serve()
    advance_all(world.ctx)
    world.now += KEPT_MS
    advance_all(world.ctx)
    assert all_jobs(world.ctx) != []
    world.now += 1
    advance_all(world.ctx)
    assert all_jobs(world.ctx) == []
    with pytest.raises(NotFound, match=job.id):
        find_job(world.ctx, job.id)


@pytest.mark.parametrize("fault", list(Fault))
def test_cut_anywhere_and_read_again_the_end_is_the_same(tmp_path: Path, fault: Fault) -> None:
    def carry_out(ctx: Any, world: World) -> None:
        job = request_end(ctx, TABLE, "open", actor=ANN)
        world.serve()
        advance(ctx, job.id)

    counting = FaultyStore((probe := prepare(tmp_path / "probe")).memory)
    carry_out(probe.with_store(counting), probe)
    assert len(counting.writes) >= 4
    for k in range(1, len(counting.writes) + 1):
        world = prepare(tmp_path / f"cut{k}")
        try:
            carry_out(world.with_store(FaultyStore(world.memory, Plan({k: fault}))), world)
        except Cut:
            assert world.visible in (["a"], ["b"]), f"write {k}"
        request_end(world.ctx, TABLE, "open", actor=ANN)
        world.serve()
        for _ in range(3):
            advance_all(world.ctx)
        assert world.visible == ["b"], f"write {k}"
        assert {j.state for j in all_jobs(world.ctx)} == {JobState.DONE}, f"write {k}"
        assert len(all_jobs(world.ctx)) == 1, f"write {k}"
