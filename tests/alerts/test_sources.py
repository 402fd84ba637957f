"""Pushes, pauses, passes and workers in trouble are findings on their tables, and close when the trouble is over."""

from __future__ import annotations

import fnmatch
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from segments.console.presenters.findings import items
from segments.console.presenters.tables import table_page
from segments.domain.jobs.workers.pools import PASSES, REPAIRS
from segments.domain.jobs.workers.state import PoolState
from segments.domain.upkeep.findings import Found, is_of_validation
from segments.errors import Unavailable
from segments.models import Cluster, Finding, IngestionSession, Push, Snapshot, Table
from segments.services.alerts import sources
from segments.services.alerts.sources import Watched
from segments.services.core.context import SYSTEM
from segments.services.upkeep import passes
from segments.services.upkeep.pass_declaration import TablePass
from segments.services.upkeep.validation import keep_findings
from tests.factories import CLUSTER, make_session, make_snapshot, make_table
from tests.services.world import TABLE, World

pytestmark = pytest.mark.django_db
NOW = timezone.now()


class Board:
    """What the workers wrote down."""

    def __init__(self, ended: Any = (), failing: Any = ()) -> None:
        self.ended, self.failing = list(ended), list(failing)

    def read_ended(self, since_ms: int) -> Any:
        if self.ended is None:
            raise Unavailable("Redis does not answer.")
        return self.ended

    def read_failing(self) -> Any:
        return self.failing


def look(board: Any = None, pools: Any = ()) -> list[str]:
    return sources.find(Watched(board or Board(), list(pools), CLUSTER, timedelta(hours=24)), NOW)


def open_findings() -> list[tuple[str, str]]:
    return sorted(Finding.objects.filter(closed_at=None).values_list("table_name", "code"))


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name=CLUSTER)


def table(cluster: Cluster, name: str, kind: str, **more: Any) -> Table:
    return Table.objects.create(
        cluster=cluster, name=f"{name}_{kind}", raw_name=name, type=kind, segments_total=1, **more
    )


def push(state: str, at: timedelta = timedelta(0)) -> Push:
    made = Push.objects.create(cluster=CLUSTER, table_name="sales", state=state, finished_at=NOW + at, error="why not")
    Push.objects.filter(pk=made.pk).update(created_at=NOW + at)
    return made


def test_a_blocked_and_a_failed_push_are_findings_until_one_succeeds(cluster: Cluster) -> None:
    table(cluster, "aaa", "OFFLINE")
    table(cluster, "sales", "OFFLINE")
    failed = push("FAILED", -timedelta(hours=2))
    blocked = push("BLOCKED")
    assert any("why not" in said for said in look())
    assert open_findings() == [("sales_OFFLINE", "push-blocked"), ("sales_OFFLINE", "push-failed")]
    everybody = User(username="root", is_superuser=True)
    rows = table_page("", 1, cluster=CLUSTER, reader=everybody).rows
    assert [(r.table.name, r.health.text) for r in rows] == [
        ("sales_OFFLINE", "needs help"),
        ("aaa_OFFLINE", "healthy"),
    ]
    assert {i.link for i in items(list(Finding.objects.all()), set(), lambda _: True)} == {
        f"/console/pushes/{p.pk}/" for p in (failed, blocked)
    }
    Push.objects.filter(pk=blocked.pk).update(state="DONE")
    look()
    assert open_findings() == []


@pytest.mark.parametrize("kind", ["push", "session", "switch"])
def test_a_failed_push_is_no_finding_any_more_once_rows_came_in_by_another_way(cluster: Cluster, kind: str) -> None:
    sales = table(cluster, "sales", "OFFLINE")
    failed = push("FAILED", -timedelta(hours=2))
    old, later = NOW - timedelta(hours=3), NOW - timedelta(hours=1)
    session = make_session(sales, state="DONE", ended_at=old)
    snapshot = make_snapshot(1, sales.name, "a", kind="switch", at=old)
    earlier = push("DONE", -timedelta(hours=3))
    look()
    assert open_findings() == [("sales_OFFLINE", "push-failed")], "what came in before it failed does not count"
    if kind == "push":  # begun before the one that failed, ended after it
        Push.objects.filter(pk=earlier.pk).update(finished_at=later)
    elif kind == "session":
        IngestionSession.objects.filter(pk=session.pk).update(ended_at=later)
    else:
        Snapshot.objects.filter(pk=snapshot.pk).update(at=later)
    look()
    assert open_findings() == []
    assert failed.state == "FAILED"


def test_a_push_of_a_table_that_was_dropped_is_none(cluster: Cluster) -> None:
    push("FAILED")
    assert look() == []


def test_a_pause_of_days_is_a_finding_and_a_short_one_is_none(cluster: Cluster) -> None:
    for name, hours in (("long", 25), ("short", 23)):
        at = (NOW - timedelta(hours=hours)).strftime("%Y-%m-%d %H:%M:%S.0")
        table(cluster, name, "REALTIME", pause={"paused": True, "timeInMillis": at})
    table(cluster, "odd", "REALTIME", pause={"paused": True, "timeInMillis": "yesterday"})
    (said,) = look()
    assert "long_REALTIME has been paused for 25 hours" in said
    assert "No end is planned" in said
    Table.objects.update(pause={"paused": False})
    look()
    assert open_findings() == []


def test_a_pass_that_fails_is_a_finding_on_its_table_until_it_runs_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)

    def fail(*_: object) -> list[str]:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setitem(passes.PASSES, "RetentionManager", (TablePass("RetentionManager", fail),))
        passes.run_pass(world.ctx, "RetentionManager", TABLE, SYSTEM)
    found = Finding.objects.get()
    assert (found.table_name, found.code, found.subject, found.severity) == (
        "t_OFFLINE",
        "pass-failed",
        "RetentionManager",
        "error",
    )
    assert "the disk is gone" in found.message
    passes.run_pass(world.ctx, "SegmentStatusChecker", TABLE, SYSTEM)
    assert Finding.objects.get(pk=found.pk).closed_at is None, "another pass that runs well says nothing of this one"
    passes.run_pass(world.ctx, "RetentionManager", TABLE, SYSTEM)
    assert Finding.objects.get(pk=found.pk).closed_at is not None


def test_workers_that_do_not_work_and_tasks_that_fail_are_findings_of_the_installation() -> None:
    board = Board(
        [("run_push", "p1", 21600.0, 1)], [("find_alerts", 3, "KeyError: 'x'"), ("sample_lag", 2, "once or twice")]
    )
    look(board, [PoolState(PASSES, ""), PoolState(REPAIRS, "It finished nothing for 125 s.")])
    assert open_findings() == [("", "task-ended"), ("", "task-failed"), ("", "worker-stuck")]
    assert all(i.link == "/console/servers/" for i in items(list(Finding.objects.all()), set(), lambda _: True))
    look()
    assert open_findings() == []


def test_findings_of_others_are_not_closed_by_the_validation_pass() -> None:
    mine = {*sources._CODES, "pass-failed"}
    assert mine >= {"push-blocked", "session-failed", "session-blocked", "pause-pressure", "task-ended"}
    assert not [code for code in mine if is_of_validation(code)]
    assert is_of_validation("no-file")
    assert not fnmatch.filter(mine, "consumption-*")
    keep_findings(CLUSTER, "t_OFFLINE", [Found("push-failed", "p", "error", "It failed.")], owns=lambda code: True)
    keep_findings(CLUSTER, "t_OFFLINE", [], owns=is_of_validation)
    assert open_findings() == [("t_OFFLINE", "push-failed")]


def test_a_session_that_failed_is_a_finding_until_a_later_one_begins(cluster: Cluster) -> None:
    table = make_table("flights_OFFLINE", cluster=cluster)
    failed = make_session(table, "first", state="IN_PROGRESS", files_failed=2, files_total=5, error="Bad row.")
    look()
    found = Finding.objects.get(code=sources.SESSION_FAILED)
    assert (found.subject, found.severity) == ("first", "warning")
    assert "2 of 5 files failed; the next trigger reads them again: Bad row." in found.message
    IngestionSession.objects.filter(pk=failed.pk).update(end_reason="RETRIES_EXHAUSTED", max_retries=3)
    look()
    found.refresh_from_db()
    assert (found.severity, "its 3 retries are used up" in found.message) == ("error", True)
    make_session(table, "second", state="IN_PROGRESS", started_at=failed.started_at + timedelta(minutes=1), task="run")
    look()
    assert open_findings() == []


def test_a_session_that_the_checks_refuse_waits_for_a_decision(cluster: Cluster) -> None:
    make_session(make_table("flights_OFFLINE", cluster=cluster), "first", state="SWITCH", is_blocked=True)
    look()
    found = Finding.objects.get()
    assert (found.code, found.severity) == ("session-blocked", "error")


def test_a_pause_by_a_full_disk_is_a_finding(cluster: Cluster) -> None:
    pause = {
        "paused": True,
        "reasonCode": "RESOURCE_UTILIZATION_LIMIT_EXCEEDED",
        "comment": "Its disk is full.",
    }
    table = make_table("r_REALTIME", type="REALTIME", raw_name="r", cluster=cluster, pause=pause)
    look()
    assert open_findings() == [("r_REALTIME", "pause-pressure")]
    assert "Its disk is full." in Finding.objects.get().message
    table.pause = {}
    table.save()
    look()
    assert open_findings() == []
