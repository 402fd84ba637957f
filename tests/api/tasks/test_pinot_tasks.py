"""Pinot's task endpoints of the own cluster: runs of sessions are tasks, files are sub-tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from segments import wiring
from segments.models import AuditEvent, Cluster, Grant, Table
from segments.services.ingestion import sessions
from segments.services.ingestion.undo import undo_session
from segments.services.schedules import beat_rows
from segments.services.tables.table_record import read_table_config
from tests.factories import CLUSTER
from tests.ingestion.ingesting import APPEND, IngestionWorld
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db

TYPE = "FileIngestionTask"
JSON = "application/json"


@pytest.fixture
def world(tmp_path: Path, settings: Any) -> Iterator[IngestionWorld]:
    """A table that ingests a folder."""
    settings.INPUT_ROOTS = [str(tmp_path)]
    world = IngestionWorld(tmp_path, {**APPEND, "schedule": "0 */30 * * * ?", "input.fs.prop.secretKey": "hidden-1"})
    world.ctx = replace(world.ctx, cluster=CLUSTER)
    with wiring.use(world.ctx):
        yield world


@pytest.fixture
def http(world: IngestionWorld) -> Client:
    return client("root", is_superuser=True)


def client(name: str, *rights: str, **more: Any) -> Client:
    user = User.objects.create_user(name, password="a long enough secret", **more)
    user.user_permissions.set(Permission.objects.filter(codename__in=rights))
    found = Client()
    found.force_login(user)
    return found


def get(http: Client, path: str) -> Any:
    answer = http.get(f"/tasks/{path}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def ran(world: IngestionWorld, **files: int) -> str:
    """A run over these files; -1 rows: a bad one. The name of its task."""
    for name, rows in files.items():
        world.put(name, max(rows, 2), bad=rows < 0)
    world.go()
    return world.session.runs[-1].task


def test_files_that_a_run_leaves_to_the_next_one_have_not_begun(world: IngestionWorld, http: Client) -> None:
    world.configure(runMaxNumFiles="1")
    task = ran(world, F1=3, F2=3)
    assert get(http, f"subtask/{task}/state") == {f"{task}_0": "COMPLETED", f"{task}_1": None}
    found = get(http, f"{TYPE}/taskcounts")[task]
    assert (found["total"], found["completed"], found["waiting"]) == (2, 1, 1)


def test_a_run_is_a_task_and_its_files_are_sub_tasks(world: IngestionWorld, http: Client) -> None:
    task = ran(world, F1=3, F2=-1)
    assert get(http, "tasktypes") == [TYPE]
    assert get(http, f"{TYPE}/state") == "IN_PROGRESS"
    assert get(http, f"{TYPE}/tasks") == [task]
    assert get(http, f"{TYPE}/tasks/count") == 1
    assert get(http, f"{TYPE}/taskstates") == get(http, f"{TYPE}/{TABLE.typed}/state") == {task: "COMPLETED"}
    assert get(http, f"task/{task}/state") == "COMPLETED"
    assert get(http, f"subtask/{task}/state") == {f"{task}_0": "COMPLETED", f"{task}_1": "TASK_ERROR"}
    progress = get(http, f"subtask/{task}/progress?subtaskNames={task}_1")
    assert list(progress) == [f"{task}_1"]
    assert progress[f"{task}_1"].startswith("Failed after 1 attempt")
    assert get(http, f"{TYPE}/taskcounts")[task] == {
        "total": 2, "completed": 1, "running": 0, "waiting": 0, "error": 1, "unknown": 0, "dropped": 0, "timedOut": 0,
        "aborted": 0,
    }  # fmt: skip
    assert get(http, f"{TYPE}/taskcounts?state=FAILED") == get(http, f"{TYPE}/taskcounts?table=u_OFFLINE") == {}


@pytest.mark.parametrize(
    ("files", "outcome"),
    [
        ({"F1": 3}, "SUCCEEDED"),
        ({"F1": 3, "F2": -1}, "PARTIALLY_FAILED"),
        ({"F1": -1, "F2": -1}, "FAILED"),
    ],
)
def test_a_completed_task_says_how_it_really_went(
    world: IngestionWorld, http: Client, files: dict[str, int], outcome: str
) -> None:
    task = ran(world, **files)
    found = get(http, f"task/{task}/debug")
    assert (found["taskState"], found["outcome"]) == ("COMPLETED", outcome)
    assert len(found["subtaskInfos"]) == found["subtaskCount"]["error"]
    assert get(http, f"{TYPE}/debug?verbosity=1")[task]["subtaskCount"]["total"] == len(files)
    assert len(get(http, f"{TYPE}/{TABLE.typed}/debug?verbosity=1")[task]["subtaskInfos"]) == len(files)


def test_configs_of_tasks_show_no_secret(world: IngestionWorld, http: Client) -> None:
    task = ran(world, F1=3)
    (config,) = get(http, f"task/{task}/config")
    assert config["tableName"] == TABLE.typed
    assert config["configs"]["input.data.file.uri"].endswith("F1")
    assert config == get(http, f"subtask/{task}/config")[f"{task}_0"]
    assert "TaskTimeoutMs" in get(http, f"task/{task}/runtime/config")
    for path in (f"task/{task}/config", f"subtask/{task}/config", f"{TYPE}/debug?verbosity=1"):
        assert "hidden-1" not in json.dumps(get(http, path))


def test_scheduling_begins_a_run_and_says_when_there_is_nothing_to_do(world: IngestionWorld, http: Client) -> None:
    world.put("F1", 3)
    path = f"/tasks/schedule?taskType={TYPE}&tableName={TABLE.typed}"
    answer = http.post(path).json()
    task = world.session.runs[-1].task
    assert answer == {TYPE: task, "generationErrors": "", "schedulingErrors": ""}
    assert get(http, f"task/{task}/state") == "IN_PROGRESS"
    assert get(http, "summary")["taskBreakdown"][0]["taskTypeBreakdown"][0]["waitingCount"] == 1
    assert get(http, "summary?tenant=other")["totalWaitingTasks"] == 0
    world.work()
    assert get(http, "summary")["taskBreakdown"] == []
    world.now += 600_000
    idle = http.post(path).json()
    assert (idle[TYPE], idle["generationErrors"], "Nothing changed" in idle["notes"]) == ("", "", True)
    assert http.post("/tasks/execute", {"taskType": TYPE, "tableName": TABLE.raw}, JSON).json() == {}
    world.put("F2", 3)
    made = http.post("/tasks/execute", {"taskType": TYPE, "tableName": TABLE.raw}, JSON).json()
    assert made == {TABLE.typed: world.session.runs[-1].task}


@pytest.mark.parametrize("query", [f"?taskType={TYPE}&tableName={TABLE.typed}", ""])
def test_a_table_whose_run_is_under_way_is_named_where_pinots_clients_expect_it(
    world: IngestionWorld, http: Client, query: str
) -> None:
    world.put("F1", 3)
    world.trigger()
    before = world.session
    answer = http.post(f"/tasks/schedule{query}")
    assert answer.status_code == 200
    found = answer.json()
    assert (found[TYPE], found["schedulingErrors"], "notes" in found) == ("", "", False)
    assert found["generationErrors"] == f"{TABLE}: Session {before.id} is running; the trigger is skipped."
    assert world.session == before
    world.work()
    assert world.vis == 3


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("post", "/tasks/schedule?taskType=MergeRollupTask", None, 404),
        ("post", f"/tasks/schedule?taskType={TYPE}&tableName=nowhere", None, 404),
        ("post", "/tasks/execute", {"taskType": TYPE, "tableName": "nowhere"}, 404),
        ("post", "/tasks/execute", {"taskType": "Foo", "tableName": "t"}, 404),
        ("post", "/tasks/execute", {"taskType": TYPE, "tableName": "t", "taskConfigs": {"a": "b"}}, 400),
        ("post", "/tasks/execute", {"taskType": TYPE, "tableName": "t", "taskName": "mine"}, 400),
        ("post", "/tasks/execute", {"tableName": "t"}, 400),
        ("get", "/tasks/MergeRollupTask/state", None, 404),
        ("get", f"/tasks/task/Task_{TYPE}_0_1/state", None, 404),
        ("delete", f"/tasks/task/Task_{TYPE}_0_1", None, 404),
        ("get", f"/tasks/{TYPE}/nowhere/metadata", None, 404),
        ("get", f"/tasks/scheduler/jobDetails?tableName=nowhere&taskType={TYPE}", None, 404),
        ("get", "/tasks/scheduler/jobDetails", None, 400),
    ],
)
def test_what_cannot_be_is_refused_with_4xx(
    world: IngestionWorld, http: Client, method: str, path: str, body: Any, status: int
) -> None:
    answer = getattr(http, method)(path, body, JSON) if body is not None else getattr(http, method)(path)
    assert answer.status_code == status, answer.content
    assert answer.json()["error"]


def test_a_type_and_a_table_can_be_stopped_and_resumed(world: IngestionWorld, http: Client) -> None:
    world.put("F1", 3)
    schedule = f"/tasks/schedule?taskType={TYPE}&tableName={TABLE.typed}"
    for path in (f"/tasks/{TYPE}", f"/tasks/{TYPE}/{TABLE.typed}"):
        assert http.put(f"{path}/stop").status_code == 200
        refused = http.post(schedule, headers={"X-Reason": "now"})
        assert (refused.status_code, "was stopped by root" in refused.json()["error"]) == (409, True)
        state = get(http, f"{TYPE}/state")
        assert state == ("STOPPED" if path.endswith(TYPE) else "IN_PROGRESS")
        assert http.put(f"{path}/resume").status_code == 200
    assert AuditEvent.objects.filter(action="stopTaskQueue", outcome="done").count() == 2
    assert http.post(schedule).status_code == 200
    http.put(f"/tasks/{TYPE}/stop")
    assert get(http, f"{TYPE}/state") == "STOPPING"
    assert http.put(f"/tasks/{TYPE}/cleanup").status_code == 200


def test_metadata_is_shown_and_forgotten_while_rows_stay(world: IngestionWorld, http: Client) -> None:
    path = f"{TYPE}/{TABLE.typed}/metadata"
    assert get(http, path) == {}
    task = ran(world, F1=3)
    assert get(http, path)["simpleFields"]["currentSession"] == world.session.id
    assert http.delete(f"/tasks/task/{task}").status_code == 409
    assert http.delete(f"/tasks/{path}").status_code == 200
    assert (sessions.history(world.ctx, TABLE), world.vis) == ([], 3)


def test_deleting_a_type_is_refused_while_something_runs(world: IngestionWorld, http: Client) -> None:
    world.put("F1", 3)
    world.trigger()
    assert http.delete(f"/tasks/{TYPE}").status_code == 409
    assert http.delete(f"/tasks/{TYPE}?forceDelete=true").status_code == 200
    assert sessions.history(world.ctx, TABLE) == []


def test_the_scheduler_lists_schedules_and_generators_their_last_starts(world: IngestionWorld, http: Client) -> None:
    config = read_table_config(world.ctx, TABLE).body
    Table.objects.create(
        cluster=Cluster.objects.get_or_create(name=CLUSTER)[0], name=TABLE.typed, raw_name=TABLE.raw, type=TABLE.type,
        config=config,
    )  # fmt: skip
    beat_rows.keep_in_step()
    assert get(http, "scheduler/jobKeys") == [{"name": TABLE.typed, "group": TYPE}]
    (job,) = get(http, "scheduler/information")["JobDetails"]
    assert job["NextFireTime"] % 1_800_000 == 0
    details = get(http, f"scheduler/jobDetails?tableName={TABLE.typed}&taskType={TYPE}")
    assert details["Triggers"][0]["CronExpression"] == "0 */30 * * * ?"
    assert details["Triggers"][0]["TimeZone"] == "UTC"
    world.put("F1", 3)
    http.post(f"/tasks/schedule?taskType={TYPE}&tableName={TABLE.typed}")
    (found,) = get(http, f"generator/{TABLE.typed}/{TYPE}/debug")
    assert (len(found["mostRecentSuccessRunTS"]), found["mostRecentErrorRunMessages"]) == (1, {})


def test_tasks_of_tables_are_for_who_has_the_right_for_them(world: IngestionWorld, settings: Any) -> None:
    settings.READ_BY_GRANT = True
    task = ran(world, F1=3)
    stranger, reader = client("stranger"), client("reader")
    Grant.objects.create(user=User.objects.get(username="reader"), right="read", cluster=CLUSTER, tables="t*")
    assert get(reader, f"task/{task}/state") == "COMPLETED"
    assert get(reader, f"{TYPE}/tasks") == [task]
    assert get(stranger, f"{TYPE}/tasks") == []
    assert stranger.get(f"/tasks/task/{task}/debug").status_code == 403
    assert stranger.get(f"/tasks/{TYPE}/{TABLE.typed}/metadata").status_code == 403
    path = f"/tasks/schedule?taskType={TYPE}&tableName={TABLE.typed}"
    for one in (stranger, reader):
        assert one.post(path).status_code == 403
        assert one.put(f"/tasks/{TYPE}/{TABLE.typed}/stop").status_code == 403
        assert one.delete(f"/tasks/{TYPE}/{TABLE.typed}/metadata").status_code == 403
    operator = client("operator")
    Grant.objects.create(user=User.objects.get(username="operator"), right="operate", cluster=CLUSTER, tables="t*")
    assert operator.post(path).status_code == 200
    assert operator.post("/tasks/schedule").status_code == 403
    assert operator.put(f"/tasks/{TYPE}/stop").status_code == 403


def test_a_cancelled_run_is_aborted(world: IngestionWorld, http: Client) -> None:
    world.put("F1", 3)
    world.trigger()
    task = world.session.runs[-1].task
    sessions.cancel(world.ctx, TABLE, ANN)
    found = get(http, f"task/{task}/debug")
    assert (found["taskState"], found["outcome"]) == ("ABORTED", "ABORTED")


def test_workers_say_how_far_the_runs_under_way_are(world: IngestionWorld, http: Client) -> None:
    seen: list[dict[str, Any]] = []

    def note(_: Any) -> None:
        states = ("IN_PROGRESS", "SUCCEEDED", "ERROR", "CANCELLED", "UNKNOWN")
        seen.append({s: get(http, f"subtask/workers/progress?subTaskState={s}") for s in states})
        assert get(http, "subtask/workers/progress?subTaskState=in_progress&minionWorkerIds=other") == {}

    world.builder.before = note
    for name in ("F1", "F2"):
        world.put(name, 3)
    world.trigger()
    world.work(owner="host:17:abc")
    task = world.session.runs[-1].task
    first, last = seen[0], seen[-1]
    assert list(first["IN_PROGRESS"]) == list(last["IN_PROGRESS"]) == ["host:17"]
    assert list(first["IN_PROGRESS"]["host:17"]) == [f"{task}_0", f"{task}_1"]
    assert get(http, "subtask/workers/progress?subTaskState=SUCCEEDED") == {}, "it is over"
    for query in ("", "?subTaskState=RUNNING"):
        assert http.get(f"/tasks/subtask/workers/progress{query}").status_code == 400


@pytest.mark.parametrize("path", [f"/tasks/{TYPE}/cleanup", f"/tasks/{TYPE}/{TABLE.typed}/cleanup"])
def test_cleaning_up_removes_runs_that_nobody_needs_and_says_which(
    world: IngestionWorld, http: Client, path: str
) -> None:
    world.put("F1", 1, bad=True)
    world.go()
    given_up = sessions.cancel(world.ctx, TABLE, ANN).id
    assert "Nothing to clean up" in http.put(path).json()["status"], "it is the newest one"
    ran(world, F1=3)
    assert "1 session removed" in http.put(path).json()["status"]
    assert AuditEvent.objects.filter(action="cleanUpTasks").latest("pk").detail == {"sessions": [given_up]}
    assert [s.id for s in sessions.history(world.ctx, TABLE)] == [world.session.id]
    done = world.session.id
    ran(world, F2=3)
    assert "Nothing to clean up" in http.put(path).json()["status"], "both can be undone"
    undo_session(world.ctx, TABLE, done, actor=ANN)
    world.serve()
    assert "1 session removed" in http.put(path).json()["status"]
    assert [s.id for s in sessions.history(world.ctx, TABLE)] == [world.session.id]
    assert world.vis == 3


def test_a_task_belongs_to_its_table_and_not_to_who_has_rights_on_another(world: IngestionWorld, settings: Any) -> None:
    settings.READ_BY_GRANT = True
    task = ran(world, F1=3)
    mia, eva = client("mia"), client("eva")
    for name, tables in (("mia", "u"), ("eva", TABLE.raw)):
        user = User.objects.get(username=name)
        Grant.objects.create(user=user, right="administer", cluster=CLUSTER, tables=tables)
    about = [f"task/{task}/{what}" for what in ("state", "config", "runtime/config", "debug")]
    about += [f"subtask/{task}/{what}" for what in ("state", "config", "progress")]
    for path in about:
        assert (mia.get(f"/tasks/{path}").status_code, eva.get(f"/tasks/{path}").status_code) == (403, 200), path
    assert (mia.delete(f"/tasks/task/{task}").status_code, eva.delete(f"/tasks/task/{task}").status_code) == (403, 409)
    for path in (f"{TYPE}/tasks", f"{TYPE}/taskstates", f"{TYPE}/debug", "subtask/workers/progress?subTaskState=ERROR"):
        assert task not in json.dumps(get(mia, path))
    for what in ("stop", "resume", "cleanup"):
        assert mia.put(f"/tasks/{TYPE}/{TABLE.typed}/{what}").status_code == 403
        assert eva.put(f"/tasks/{TYPE}/{TABLE.typed}/{what}").status_code == 200
        assert eva.put(f"/tasks/{TYPE}/{what}").status_code == 403
    assert mia.delete(f"/tasks/{TYPE}/{TABLE.typed}/metadata").status_code == 403
    assert sessions.history(world.ctx, TABLE)


def test_there_is_no_lock_to_release_and_the_answer_says_what_to_do_instead(world: IngestionWorld) -> None:
    ran(world, F1=3)
    answer = client("olga", "administer").delete(f"/tasks/lock/forceRelease?tableNameWithType={TABLE.typed}")
    assert answer.status_code == 404
    assert f"DELETE /tasks/{TYPE}/{TABLE.typed}/metadata" in answer.json()["remedy"]
    assert sessions.history(world.ctx, TABLE)
