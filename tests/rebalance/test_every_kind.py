"""Rebalance on every kind of cluster: the same preview, the same refusals, progress, stop and record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.clusters.embedded.rebalance import keeping
from segments.clusters.pinot import calls as pinot_calls
from segments.domain.pinot import capabilities
from segments.domain.rebalance.job import Status
from segments.domain.rebalance.options import Options
from segments.errors import InvalidInput, NotFound, StateConflict
from segments.models import AuditEvent
from segments.services.core.context import Actor, Context
from segments.services.rebalance import rebalance
from tests.pinot_cluster.fake_pinot import Fault, PinotCluster
from tests.rebalance.spread import A, B, C, Spread
from tests.rebalance.test_rebalance import lonely
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db

VERSIONS = ("0.11.0", "1.2.0", "1.5.1")


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinot_calls, "_PAUSE_S", 0.0)
    monkeypatch.setattr(keeping, "_QUIET_S", 0.0)


@pytest.fixture(params=["embedded", *VERSIONS])
def kind(request: Any, tmp_path: Path) -> tuple[Context, Spread]:
    """The context that drives the cluster, and what it holds."""
    inside = Spread(tmp_path / "inside")
    if request.param == "embedded":
        return inside.ctx, inside
    return PinotCluster(tmp_path, inside=inside, version=request.param).ctx, inside


def pinot(folder: Path, version: str) -> PinotCluster:
    return PinotCluster(folder, inside=Spread(folder / "inside"), version=version)


def outcomes(ctx: Context, action: str) -> list[str]:
    return list(
        AuditEvent.objects.filter(cluster=ctx.cluster, action=action).order_by("pk").values_list("outcome", flat=True)
    )


def test_a_dry_run_shows_what_would_move(kind: tuple[Context, Spread]) -> None:
    ctx, inside = kind
    before = inside.record
    found = rebalance.preview(ctx, TABLE, Options())
    assert (found.status, found.plan.loads, found.plan.loses) == (Status.DONE, {C: 8}, {A: 4, B: 4})
    assert inside.record == before
    assert outcomes(ctx, "rebalance") == []


def test_it_is_begun_followed_to_its_end_and_on_record(kind: tuple[Context, Spread]) -> None:
    ctx, inside = kind
    begun = rebalance.start(ctx, TABLE, Options(), actor=ANN)
    assert begun.status is Status.IN_PROGRESS
    running = rebalance.status(ctx, begun.job_id)
    assert (running.is_open, running.who, running.reason) == (True, "ann", "because")
    inside.finish()
    done = rebalance.newest(ctx, TABLE)
    assert done is not None
    assert (done.job_id, done.status, done.percent) == (begun.job_id, Status.DONE, 100)
    assert inside.load == {A: 8, B: 8, C: 8}
    assert rebalance.start(ctx, TABLE, Options(), actor=ANN).status is Status.NO_OP
    assert outcomes(ctx, "rebalance") == ["done", "done"]


def test_a_second_one_is_refused_while_the_first_runs(kind: tuple[Context, Spread]) -> None:
    ctx, _ = kind
    rebalance.start(ctx, TABLE, Options(), actor=ANN)
    with pytest.raises(StateConflict, match="is running"):
        rebalance.start(ctx, TABLE, Options(), actor=ANN)
    assert outcomes(ctx, "rebalance") == ["done", "refused"]


def test_the_only_copy_of_rows_is_moved_with_a_reason_only(kind: tuple[Context, Spread]) -> None:
    ctx, inside = kind
    lonely(inside)
    with pytest.raises(StateConflict, match="peer-download"):
        rebalance.start(ctx, TABLE, Options(downtime=True), actor=ANN)
    assert inside.load == {A: 12}
    forced = Options(downtime=True, allow_data_loss=True)
    with pytest.raises(InvalidInput, match="needs a reason"):
        rebalance.start(ctx, TABLE, forced, actor=Actor("ann"))
    assert rebalance.start(ctx, TABLE, forced, actor=ANN).status is Status.IN_PROGRESS


def test_an_unknown_job_is_not_found(kind: tuple[Context, Spread]) -> None:
    with pytest.raises(NotFound, match="no-such-job"):
        rebalance.status(kind[0], "no-such-job")
    assert rebalance.newest(kind[0], TABLE) is None


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_a_pinot_stops_it_where_it_can(tmp_path: Path, version: str) -> None:
    cluster = pinot(tmp_path, version)
    job = rebalance.start(cluster.ctx, TABLE, Options(), actor=ANN).job_id
    assert rebalance.stop(cluster.ctx, TABLE, actor=ANN) == [job]
    assert rebalance.status(cluster.ctx, job).status is Status.CANCELLED
    assert rebalance.stop(cluster.ctx, TABLE, actor=ANN) == []


def test_a_pinot_that_cannot_stop_it_says_so_and_is_not_asked(tmp_path: Path) -> None:
    cluster = pinot(tmp_path, "0.11.0")
    rebalance.start(cluster.ctx, TABLE, Options(), actor=ANN)
    sent = len(cluster.rest.changes)
    with pytest.raises(StateConflict, match=r"Pinot 0\.11\.0 cannot stop a rebalance\. Pinot 1\.2\.0 has it"):
        rebalance.stop(cluster.ctx, TABLE, actor=ANN)
    assert len(cluster.rest.changes) == sent
    assert "cannot stop" in cluster.ctx.engine.lacks(cluster.ctx, capabilities.REBALANCE_STOP)


def test_what_does_not_move_on_a_pinot_that_keeps_no_job_counts_as_failed_in_the_end(tmp_path: Path) -> None:
    cluster = pinot(tmp_path, "0.11.0")
    job = rebalance.start(cluster.ctx, TABLE, Options(), actor=ANN).job_id
    cluster.inside.now += 3_600_000
    assert rebalance.status(cluster.ctx, job).is_open
    cluster.inside.now += 3_600_001
    given_up = rebalance.status(cluster.ctx, job)
    assert (given_up.status, given_up.is_open) == (Status.FAILED, False)
    assert "Nothing moved for 3600 s" in given_up.message


@pytest.mark.parametrize("version", VERSIONS[:2])
def test_a_commit_beforehand_is_refused_where_pinot_has_none(tmp_path: Path, version: str) -> None:
    with pytest.raises(StateConflict, match="commit consuming segments before a rebalance"):
        rebalance.start(pinot(tmp_path, version).ctx, TABLE, Options(force_commit=True), actor=ANN)


@pytest.mark.parametrize("version", VERSIONS)
def test_pre_checks_are_shown_where_pinot_makes_them(tmp_path: Path, version: str) -> None:
    found = rebalance.preview(pinot(tmp_path, version).ctx, TABLE, Options())
    assert bool(found.plan.checks) is (version == "1.5.1")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("fault", [Fault.LOSE_BEFORE, Fault.LOSE_AFTER, Fault.GATEWAY_AFTER])
def test_a_lost_answer_is_looked_up_and_begins_no_second_rebalance(tmp_path: Path, version: str, fault: Fault) -> None:
    cluster = pinot(tmp_path, version)
    cluster.rest.faults[2] = fault  # the first is the dry run
    begun = rebalance.start(cluster.ctx, TABLE, Options(), actor=ANN)
    assert begun.status is Status.IN_PROGRESS
    inside = cluster.inside
    assert isinstance(inside, Spread)
    inside.finish()
    done = rebalance.newest(cluster.ctx, TABLE)
    assert done is not None
    assert done.status is Status.DONE
    assert inside.load == {A: 8, B: 8, C: 8}
