"""Pages of minion tasks: what a Pinot cluster reports, what it lacks and why, and buttons with rights,
reason and audit.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from segments import wiring
from segments.clusters.pinot import calls as pinot_calls
from segments.models import AuditEvent, Cluster, Grant
from tests.console.conftest import logged_in
from tests.factories import make_table
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.pinot_cluster.fake_tasks import FakeTasks
from tests.services.world import World

TASKS = "/console/c/prod/passes/tasks/"
MERGE = "MergeRollupTask"
FAILED = {"taskId": "x_0", "state": "TASK_ERROR", "info": "no space left on <device>", "participant": "Minion_a_9514"}


@pytest.fixture
def fake(world: World, tmp_path: Path, db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTasks]:
    """Cluster ``prod`` with a table that asks for merges; the scheduler is on, one task is over."""
    monkeypatch.setattr(pinot_calls, "_PAUSE_S", 0.0)
    pinot = PinotCluster(tmp_path / "prod")
    row = Cluster.objects.create(name="prod", kind="pinot", state="up", version="1.5.1")
    make_table(
        "events_OFFLINE", cluster=row, config={"task": {"taskTypeConfigsMap": {MERGE: {"schedule": "0 */5 * * * ?"}}}}
    )
    jobs = {("events_OFFLINE", MERGE): (1_795_297_000_000, 1_795_296_700_000)}
    pinot.rest.tasks = FakeTasks(queues={MERGE: "IN_PROGRESS"}, jobs=jobs, enabled={MERGE: ["events_OFFLINE"]})
    with wiring.use_cluster(pinot.ctx):
        yield pinot.rest.tasks


@pytest.fixture
def admin(db: None) -> Client:
    """May administer everything."""
    return logged_in("anna", "administer")


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.status_code)
    return str(answer.content.decode())


def test_the_overview_stands_next_to_the_passes_and_leads_to_types_and_tasks(admin: Client, fake: FakeTasks) -> None:
    name = fake.add(MERGE, 1, subtaskCount={"total": 2, "completed": 1, "error": 1}, subtaskInfos=[FAILED])
    assert f'href="{TASKS}"' in page(admin, "/console/c/prod/passes/")
    text = page(admin, TASKS)
    for said in (
        MERGE,
        "0 */5 * * * ?",
        "2026-11-21 21:36:40",
        "events_OFFLINE",
        "Schedule now…",
        "Stop…",
        "none alive",
    ):
        assert said in text, said
    of_type = page(admin, f"{TASKS}{MERGE}/")
    assert "no minion is alive: they wait until one runs" in of_type
    for said in (name, "1 of 2 done, 1 failed", "COMPLETED, 1 failed", "no space left on &lt;device&gt;"):
        assert said in of_type, said
    task = page(admin, f"{TASKS}{MERGE}/{name}/")
    assert "Minion_a_9514" in task
    assert "Pinot calls a task COMPLETED when none of it is running any more" in task


def test_the_own_cluster_has_passes_only(admin: Client, fake: FakeTasks) -> None:
    assert "passes/tasks" not in page(admin, "/console/passes/")
    for address in ("", f"{MERGE}/", f"{MERGE}/stop/", f"schedule/?type={MERGE}&table=t_OFFLINE"):
        assert admin.get(f"/console/passes/tasks/{address}").status_code == 404, address


def test_a_cluster_without_minions_or_scheduler_says_so_and_is_no_error(admin: Client, fake: FakeTasks) -> None:
    fake.queues, fake.jobs = {}, None
    text = page(admin, TASKS)
    assert "No minion is alive: tasks wait until one runs." in text
    assert "controller.task.scheduler.enabled" in text
    assert "the scheduler is off" in text
    assert "no queue yet" in text
    Cluster.objects.get(name="prod").tables.all().delete()
    assert "No minion task yet" in page(admin, TASKS)


def test_a_task_is_scheduled_after_a_confirmation_with_a_reason(admin: Client, fake: FakeTasks) -> None:
    asked = page(admin, f"{TASKS}schedule/?type={MERGE}&table=events_OFFLINE")
    assert "Schedule MergeRollupTask now" in asked
    values = {"type": MERGE, "table": "events_OFFLINE"}
    assert admin.post(f"{TASKS}schedule/", values).status_code == 422
    done = admin.post(f"{TASKS}schedule/", {**values, "reason": "late"}, follow=True).content.decode()
    assert "Pinot made 1 task of type MergeRollupTask for events_OFFLINE." in done
    event = AuditEvent.objects.get(action="scheduleTask")
    assert (event.actor, event.reason, event.target, event.cluster) == ("anna", "late", "events_OFFLINE", "prod")
    fake.is_idle = True
    idle = admin.post(f"{TASKS}schedule/", {**values, "reason": "late"}, follow=True).content.decode()
    assert "no task was made" in idle
    assert admin.post(f"{TASKS}schedule/", {"type": MERGE, "table": "none_OFFLINE", "reason": "x"}).status_code == 404
    assert admin.get(f"{TASKS}schedule/").status_code == 400


def test_a_queue_is_stopped_resumed_and_cleared_and_a_task_of_it_deleted(admin: Client, fake: FakeTasks) -> None:
    name = fake.add(MERGE, 1)
    reason = {"reason": "disk is full"}
    assert "Stop it first" in page(admin, f"{TASKS}{MERGE}/{name}/")
    assert admin.post(f"{TASKS}{MERGE}/{name}/delete/", reason).status_code == 409
    assert admin.post(f"{TASKS}{MERGE}/stop/", reason)["Location"] == f"{TASKS}{MERGE}/"
    assert "Its queue is stopped" in page(admin, f"{TASKS}{MERGE}/")
    assert admin.post(f"{TASKS}{MERGE}/{name}/delete/", reason).status_code == 302
    assert admin.post(f"{TASKS}{MERGE}/resume/", reason).status_code == 302
    fake.add(MERGE, 2)
    assert admin.post(f"{TASKS}{MERGE}/clean-up/", reason).status_code == 302
    assert (fake.queues[MERGE], fake.tasks[MERGE]) == ("IN_PROGRESS", {})
    actions = AuditEvent.objects.filter(outcome="done", cluster="prod").order_by("id").values_list("action", flat=True)
    assert list(actions) == ["stopTaskQueue", "deleteTask", "resumeTaskQueue", "cleanUpTasks"]


def test_changing_tasks_needs_what_it_needs_over_rest(fake: FakeTasks) -> None:
    ann = logged_in("ann", "operate")
    Grant.objects.create(user=User.objects.get(username="ann"), cluster="prod", tables="events*", right="administer")
    name = fake.add(MERGE, 1)
    text = page(ann, TASKS)
    assert "Schedule now…" not in text
    assert "needs the right <code>segments.administer</code> for the whole cluster" in text
    for address in (f"{MERGE}/stop/", f"{MERGE}/resume/", f"{MERGE}/clean-up/", f"{MERGE}/{name}/delete/", "schedule/"):
        answer = ann.post(f"{TASKS}{address}", {"type": MERGE, "table": "events_OFFLINE", "reason": "x"})
        assert answer.status_code == 403, address
    assert AuditEvent.objects.filter(actor="ann", outcome="refused").count() == 5
    assert fake.asked.count("PUT MergeRollupTask/stop") == 0


def test_a_controller_that_is_unreachable_is_reported_and_is_no_fault_of_ours(
    admin: Client, fake: FakeTasks, tmp_path: Path
) -> None:
    ctx = wiring.context("prod")
    with wiring.use_cluster(ctx):
        fake.breaks = {"tasktypes", f"{MERGE}/taskstates"}
        assert "cannot be listed: Pinot answered 400" in page(admin, TASKS)
        assert admin.get(f"{TASKS}{MERGE}/").status_code < 500
