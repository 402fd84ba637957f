"""A rebalance of the embedded cluster: previewed, begun once, carried on by anybody, stopped anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.clusters.embedded.rebalance import keeping
from segments.clusters.embedded.rebalance.jobs import advance
from segments.domain.rebalance.job import Status
from segments.domain.rebalance.options import Options
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.errors import InvalidInput, NotFound, StateConflict
from segments.metrics.metric_kinds import RECORDED
from segments.models import AuditEvent
from segments.names import TableName
from segments.services.core.context import Actor
from segments.services.rebalance import rebalance
from segments.store import paths
from segments.store.update import update_record
from tests.rebalance.spread import A, B, C, Spread
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Spread:
    monkeypatch.setattr(keeping, "_QUIET_S", 0.0)  # what is waited for comes between two runs of the pass
    return Spread(tmp_path)


def test_a_dry_run_shows_what_would_move_and_writes_nothing(world: Spread) -> None:
    before = world.record
    found = rebalance.preview(world.ctx, TABLE, Options())
    assert (found.status, found.description) == (Status.DONE, "Dry-run mode")
    assert found.plan.loads == {C: 8}
    assert found.plan.loses == {A: 4, B: 4}
    assert found.plan.size.bytes == 8000
    assert sorted(found.body["segmentAssignment"]) == world.names
    assert found.body["rebalanceSummaryResult"]["segmentInfo"]["totalSegmentsToBeMoved"] == 8
    assert found.body["preChecksResult"]["rebalanceConfigOptions"]["preCheckStatus"] == "PASS"
    assert world.record == before
    assert world.newest() is None
    assert not AuditEvent.objects.exists()


def test_a_rebalance_spreads_the_segments_and_is_on_record(world: Spread) -> None:
    begun = rebalance.start(world.ctx, TABLE, Options(), actor=ANN)
    assert begun.status is Status.IN_PROGRESS
    world.finish()
    assert world.load == {A: 8, B: 8, C: 8}
    done = rebalance.status(world.ctx, begun.job_id)
    assert (done.status, done.percent, done.done.added, done.done.bytes) == (Status.DONE, 100, 8, 8000)
    assert done.body["tableRebalanceProgressStats"]["status"] == "DONE"
    event = AuditEvent.objects.get(action="rebalance")
    assert (event.actor, event.reason, event.target) == ("ann", "because", TABLE.typed)
    assert event.detail["loads"] == {C: 8}


def test_what_is_balanced_is_no_rebalance(world: Spread) -> None:
    rebalance.start(world.ctx, TABLE, Options(), actor=ANN)
    world.finish()
    again = rebalance.start(world.ctx, TABLE, Options(), actor=ANN)
    assert (again.status, again.description) == (Status.NO_OP, "Table is already balanced")


def test_a_table_is_rebalanced_by_one_at_a_time(world: Spread) -> None:
    job = rebalance.start(world.ctx, TABLE, Options(), actor=ANN).job_id
    with pytest.raises(StateConflict, match=job):
        rebalance.start(world.ctx, TABLE, Options(), actor=ANN)
    world.finish()


def test_a_replica_leaves_only_when_its_successor_serves(world: Spread) -> None:
    rebalance.start(world.ctx, TABLE, Options(), actor=ANN)
    for _ in range(60):
        rebalance.keep(world.ctx)
        assert all(len(world.served(s) & set(row)) >= 2 for s, row in world.record.maps.items())
        world.serve_some(1)
        job = world.newest()
        if job is None or not job.is_open:
            break
    assert world.load == {A: 8, B: 8, C: 8}


def test_progress_counts_what_is_loaded_and_what_is_waited_for(world: Spread) -> None:
    rebalance.start(world.ctx, TABLE, Options(), actor=ANN)
    rebalance.keep(world.ctx)
    world.serve_some(2)
    rebalance.keep(world.ctx)
    now = rebalance.newest(world.ctx, TABLE)
    assert now is not None
    assert (now.done.added, now.waiting, now.percent) == (2, 6, 25)
    assert (
        now.body["tableRebalanceProgressStats"]["rebalanceProgressStatsOverall"]["totalRemainingSegmentsToBeAdded"] == 6
    )


def test_a_stop_leaves_every_segment_served_and_can_be_begun_again(world: Spread) -> None:
    job = rebalance.start(world.ctx, TABLE, Options(), actor=ANN).job_id
    rebalance.keep(world.ctx)
    world.serve_some(3)
    assert rebalance.stop(world.ctx, TABLE, actor=ANN) == [job]
    assert all(len(world.served(s) & set(row)) == len(row) == 2 for s, row in world.record.maps.items())
    assert rebalance.status(world.ctx, job).status is Status.CANCELLED
    assert "Stopped by ann: because" in rebalance.status(world.ctx, job).message
    assert rebalance.stop(world.ctx, TABLE, actor=ANN) == []
    rebalance.start(world.ctx, TABLE, Options(), actor=ANN)
    world.finish()
    assert world.load == {A: 8, B: 8, C: 8}


def test_a_server_that_was_switched_off_is_emptied(world: Spread) -> None:
    world.memory.delete(paths.live_instance(B))
    rebalance.start(world.ctx, TABLE, Options(), actor=ANN)
    world.finish()
    assert world.load == {A: 12, C: 12}


def test_too_few_servers_are_no_place_to_go(world: Spread) -> None:
    world.configure(replication=4)
    with pytest.raises(StateConflict, match="wants 4 replicas, but 3"):
        rebalance.preview(world.ctx, TABLE, Options())


def test_more_replicas_are_loaded_and_fewer_are_removed(world: Spread) -> None:
    world.configure(replication=3)
    rebalance.start(world.ctx, TABLE, Options(), actor=ANN)
    world.finish()
    assert world.load == {A: 12, B: 12, C: 12}
    world.configure(replication=1)
    assert rebalance.start(world.ctx, TABLE, Options(), actor=ANN).plan.loads == {}
    world.finish()
    assert world.load == {A: 4, B: 4, C: 4}


def lonely(world: Spread) -> None:
    """Every segment is on one server, and nowhere else."""
    world.configure(replication=1, scheme="http")
    world.place({name: {A: "ONLINE"} for name in world.names})
    world.serve()
    for name in world.names:
        fields = {"segment.realtime.status": "DONE", "segment.download.url": "", "segment.crc": "1"}
        record = SegmentMetadata(name, fields).to_record()
        update_record(world.memory, paths.segment(TABLE.typed, name), lambda _, record=record: record)  # type: ignore[misc]  # bound


@pytest.mark.parametrize("options", [{"downtime": True}, {"min_available": 0}])
def test_the_only_copy_of_rows_is_not_moved_unless_forced_with_a_reason(world: Spread, options: dict[str, int]) -> None:
    lonely(world)
    shown = rebalance.preview(world.ctx, TABLE, Options(**options))  # type: ignore[arg-type]
    assert shown.status is Status.FAILED
    assert "peer-download" in shown.description
    assert "as the download URL is empty" in shown.description
    assert shown.body["preChecksResult"]["rebalanceConfigOptions"]["preCheckStatus"] == "WARN"
    with pytest.raises(StateConflict, match="peer-download"):
        rebalance.start(world.ctx, TABLE, Options(**options), actor=ANN)  # type: ignore[arg-type]
    forced = Options(**options, allow_data_loss=True)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="needs a reason"):
        rebalance.start(world.ctx, TABLE, forced, actor=Actor("ann"))
    assert world.load == {A: 12}
    assert rebalance.start(world.ctx, TABLE, forced, actor=ANN).status is Status.IN_PROGRESS
    assert [e.outcome for e in AuditEvent.objects.order_by("pk")] == ["refused", "refused", "done"]
    assert len(AuditEvent.objects.latest("pk").detail["atRisk"]) == 8
    world.finish()
    assert world.load == {A: 4, B: 4, C: 4}


def test_with_a_replica_always_served_the_only_copy_moves_without_a_question(world: Spread) -> None:
    lonely(world)
    rebalance.start(world.ctx, TABLE, Options(), actor=ANN)
    world.finish()
    assert world.load == {A: 4, B: 4, C: 4}


def test_a_table_that_is_not_there_is_named(world: Spread) -> None:
    other = TableName("other", "OFFLINE")
    for ask in (rebalance.preview, lambda c, t, o: rebalance.start(c, t, o, actor=ANN)):
        with pytest.raises(NotFound, match="other"):
            ask(world.ctx, other, Options())
    with pytest.raises(NotFound, match="no-such-job"):
        rebalance.status(world.ctx, "no-such-job")
    assert rebalance.newest(world.ctx, other) is None


def test_a_step_of_one_who_died_is_taken_by_another(world: Spread) -> None:
    rebalance.start(world.ctx, TABLE, Options(), actor=ANN)
    advance(world.ctx, TABLE)
    world.serve()
    other = world.with_store(world.memory.another_client())
    advance(other, TABLE)
    job = world.newest()
    assert job is not None
    assert job.status is Status.DONE


def test_rebalances_are_counted_by_what_became_of_them(world: Spread) -> None:
    def counts() -> dict[str, float]:
        outcomes = ("begun", "done", "failed", "stopped")
        labels = [{"cluster": "test", "table": TABLE.typed, "outcome": outcome} for outcome in outcomes]
        name = "pinotadmin_rebalances_total"
        return {one["outcome"]: RECORDED.get_sample_value(name, one) or 0.0 for one in labels}

    before = counts()
    rebalance.preview(world.ctx, TABLE, Options())
    rebalance.start(world.ctx, TABLE, Options(), actor=ANN)
    assert rebalance.stop(world.ctx, TABLE, actor=ANN)
    rebalance.start(world.ctx, TABLE, Options(), actor=ANN)
    world.finish()
    rebalance.start(world.ctx, TABLE, Options(), actor=ANN)  # nothing is left to move
    advance(world.ctx, TABLE)
    grown = {outcome: count - before[outcome] for outcome, count in counts().items()}
    assert grown == {"begun": 2, "done": 1, "failed": 0, "stopped": 1}
