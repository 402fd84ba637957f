"""Minion tasks of a Pinot cluster: what is read of them with few calls, what is lacking and why, and changes with lost
answers.
"""

from __future__ import annotations

import pytest

from segments.clusters.pinot.connected_engine import controller
from segments.clusters.pinot.tasks import changes
from segments.clusters.pinot.tasks.listing import PAGE, read_task, read_type
from segments.clusters.pinot.tasks.queues import MOST_TYPES, Schedule, read_tasks
from segments.errors import NotFound, StateConflict, Unavailable
from segments.models import AuditEvent, Cluster, Table
from segments.services.core.context import Actor
from tests.factories import make_table
from tests.pinot_cluster.fake_pinot import Fault, PinotCluster
from tests.pinot_cluster.fake_tasks import FakeTasks

pytestmark = pytest.mark.django_db

ANN = Actor("ann", "the merge is late")
MERGE, PURGE = "MergeRollupTask", "PurgeTask"
CRON = "0 */5 * * * ?"
TABLE = "events_OFFLINE"
ERROR = {
    "taskId": "x_0",
    "state": "TASK_ERROR",
    "info": "no space left on device",
    "finishTime": "2026-11-21 21:27:00 UTC",
}


@pytest.fixture
def events(pinot: PinotCluster) -> Table:
    """A table whose config asks for a merge on a schedule, and for a purge on demand."""
    config = {"task": {"taskTypeConfigsMap": {MERGE: {"schedule": CRON}, PURGE: {}}}}
    return make_table(
        TABLE, cluster=Cluster.objects.create(name="prod", kind="pinot", state="up", version="1.5.1"), config=config
    )


@pytest.fixture
def fake(pinot: PinotCluster, events: Table) -> FakeTasks:
    """The controller's tasks: the queue of merges is open, and the scheduler on."""
    pinot.rest.tasks = FakeTasks(
        queues={MERGE: "IN_PROGRESS"}, jobs={(TABLE, MERGE): (1_795_297_000_000, None)}, enabled={MERGE: [TABLE]}
    )
    return pinot.rest.tasks


def test_an_overview_has_types_schedules_and_what_tables_ask_for(pinot: PinotCluster, fake: FakeTasks) -> None:
    fake.add(MERGE, 1)
    fake.add(MERGE, 2, "FAILED")
    found = read_tasks(pinot.ctx)
    assert [(t.name, t.queue, t.counts, t.tables, t.has_queue) for t in found.types] == [
        (MERGE, "IN_PROGRESS", {"COMPLETED": 1, "FAILED": 1}, (TABLE,), True), (PURGE, "", {}, (TABLE,), False),
    ]  # fmt: skip
    merge, purge = found.schedules
    assert (merge.cron, merge.is_registered, merge.next_at.ms, merge.previous_at.ms) == (
        CRON,
        True,
        1_795_297_000_000,
        None,
    )
    assert purge == Schedule(TABLE, PURGE, "", False)
    assert (found.scheduler, found.notes) == (
        "on",
        ("No minion is alive: tasks wait until one runs.", *found.notes[1:]),
    )


def test_an_old_controller_answers_because_we_say_that_we_take_json(pinot: PinotCluster, fake: FakeTasks) -> None:
    fake.is_old = True
    fake.add(MERGE, 1)
    assert read_tasks(pinot.ctx).types[0].counts == {"COMPLETED": 1}


def test_the_number_of_calls_does_not_grow_with_the_number_of_tasks(pinot: PinotCluster, fake: FakeTasks) -> None:
    for number in range(500):
        fake.add(MERGE, 1_700_000_000_000 + number)
    before = controller(pinot.ctx).calls()
    read_tasks(pinot.ctx)
    assert controller(pinot.ctx).calls() - before <= 2 + 4 + 1
    fake.asked.clear()
    page = read_type(pinot.ctx, MERGE)
    assert (len(page.tasks), page.total, page.has_next) == (PAGE, 500, True)
    assert len(fake.asked) == PAGE + 3
    assert page.tasks[0].name.endswith("_1700000000499")
    assert read_type(pinot.ctx, MERGE, 25).has_next is False


def test_no_more_types_are_asked_about_than_a_page_can_bear(pinot: PinotCluster, fake: FakeTasks) -> None:
    fake.queues = {f"Type{n:02}Task": "IN_PROGRESS" for n in range(MOST_TYPES + 5)}
    found = read_tasks(pinot.ctx)
    assert sum(t.has_queue for t in found.types) == MOST_TYPES
    assert f"{MOST_TYPES + 5} types of tasks are there; the first {MOST_TYPES} are shown." in found.notes


def test_a_scheduler_that_is_off_and_one_that_does_not_know_are_distinguished(
    pinot: PinotCluster, fake: FakeTasks
) -> None:
    fake.breaks = {"scheduler/information"}
    found = read_tasks(pinot.ctx)
    assert (found.scheduler, found.schedules[0].is_registered, bool(found.schedules[0].next_at)) == ("on", True, False)
    assert any("does not say when schedules run" in n and "reference chain" not in n for n in found.notes)
    fake.jobs, fake.breaks = None, set()
    off = read_tasks(pinot.ctx)
    assert off.scheduler == "off"
    assert any("controller.task.scheduler.enabled" in n for n in off.notes)


def test_types_that_cannot_be_listed_are_a_note_with_pinots_words_and_no_claim(
    pinot: PinotCluster, fake: FakeTasks
) -> None:
    fake.breaks = {"tasktypes"}
    found = read_tasks(pinot.ctx)
    assert found.notes[0].startswith("The types of minion tasks cannot be listed: Pinot answered 400")
    assert [t.name for t in found.types] == [MERGE, PURGE]


def test_a_controller_that_is_unreachable_is_no_list_of_notes(pinot: PinotCluster, fake: FakeTasks) -> None:
    pinot.rest.down = {"controller"}
    with pytest.raises(Unavailable):
        read_tasks(pinot.ctx)


def test_a_type_shows_when_pinot_searched_for_work_last_and_what_went_wrong_since(
    pinot: PinotCluster, fake: FakeTasks
) -> None:
    fake.generations[f"{TABLE}/{MERGE}"] = [
        {
            "mostRecentSuccessRunTS": ["2026-11-21T21:24:59.208Z"],
            "mostRecentErrorRunMessages": {"2026-11-21T21:30:00Z": "bad config"},
        },
        {"mostRecentSuccessRunTS": ["2026-11-21T21:20:00Z"], "mostRecentErrorRunMessages": {}},
    ]
    (told,) = read_type(pinot.ctx, MERGE).tables
    assert (told.table, told.cron, told.at.text, told.error) == (TABLE, CRON, "2026-11-21T21:24:59.208Z", "bad config")
    fake.generations[f"{TABLE}/{MERGE}"][1]["mostRecentSuccessRunTS"] = ["2026-11-21T21:31:00Z"]
    (told,) = read_type(pinot.ctx, MERGE).tables
    assert (told.at.text, told.error, bool(told.failed_at)) == ("2026-11-21T21:31:00Z", "", False)


def test_a_type_that_nobody_knows_is_not_found_and_one_that_is_only_asked_for_is_empty(
    pinot: PinotCluster, fake: FakeTasks
) -> None:
    with pytest.raises(NotFound):
        read_type(pinot.ctx, "NopeTask")
    assert (read_type(pinot.ctx, PURGE).queue, read_type(pinot.ctx, PURGE).total) == ("", 0)


def test_details_that_a_controller_cannot_write_are_left_out_step_by_step(pinot: PinotCluster, fake: FakeTasks) -> None:
    name = fake.add(MERGE, 1, "COMPLETED", subtaskCount={"total": 1, "error": 1}, subtaskInfos=[ERROR])
    assert read_task(pinot.ctx, MERGE, name).errors == ("no space left on device",)
    fake.breaks = {"debug?1"}
    told = read_task(pinot.ctx, MERGE, name)
    assert (told.failed, "out of bounds" in told.note, "reference chain" in told.note) == (1, True, False)
    fake.breaks = {"debug?1", "debug?0"}
    told = read_task(pinot.ctx, MERGE, name)
    assert (told.total, told.failed, [s.state for s in told.subtasks]) == (1, 1, ["TASK_ERROR"])
    made = fake.add(MERGE, 1_795_296_299_225)
    fake.breaks |= {f"subtask/{made}/state"}
    assert read_task(pinot.ctx, MERGE, made).created.ms == 1_795_296_299_225
    fake.breaks |= {f"subtask/{name}/state"}
    assert read_task(pinot.ctx, MERGE, name).total is None
    with pytest.raises(NotFound):
        read_task(pinot.ctx, MERGE, "Task_MergeRollupTask_gone_1")


def test_a_task_is_scheduled_with_its_record(pinot: PinotCluster, fake: FakeTasks) -> None:
    (made,) = changes.schedule_now(pinot.ctx, MERGE, TABLE, actor=ANN)
    assert made in fake.tasks[MERGE]
    event = AuditEvent.objects.get()
    assert (event.action, event.target, event.actor, event.reason, event.cluster) == (
        "scheduleTask",
        TABLE,
        "ann",
        "the merge is late",
        "prod",
    )
    fake.is_idle = True
    assert changes.schedule_now(pinot.ctx, MERGE, TABLE, actor=ANN) == []


def test_a_schedule_whose_answer_was_lost_is_found_among_the_tasks_and_not_sent_again(
    pinot: PinotCluster, fake: FakeTasks
) -> None:
    pinot.rest.faults[len(pinot.rest.changes) + 1] = Fault.LOSE_AFTER
    (made,) = changes.schedule_now(pinot.ctx, MERGE, TABLE, actor=ANN)
    assert list(fake.tasks[MERGE]) == [made]
    assert pinot.rest.changes.count("POST /tasks/schedule") == 1


@pytest.mark.parametrize(
    ("kind", "table", "error"), [("NopeTask", TABLE, NotFound), (MERGE, "t_OFFLINE", StateConflict)]
)
def test_what_pinot_cannot_schedule_is_refused_with_its_cause(
    pinot: PinotCluster, fake: FakeTasks, kind: str, table: str, error: type[Exception]
) -> None:
    with pytest.raises(error, match="Pinot refused: Ta"):
        changes.schedule_now(pinot.ctx, kind, table, actor=ANN)
    assert AuditEvent.objects.get().outcome == "refused"


def test_errors_of_a_newer_generator_are_reported_when_no_task_came_of_it(pinot: PinotCluster, fake: FakeTasks) -> None:
    fake.errors = "Failed to generate: bucketTimePeriod is missing"
    with pytest.raises(StateConflict, match="bucketTimePeriod is missing"):
        changes.schedule_now(pinot.ctx, MERGE, TABLE, actor=ANN)


@pytest.mark.parametrize("fault", [None, Fault.LOSE_AFTER, Fault.ERROR_AFTER])
def test_a_queue_is_stopped_and_resumed_whatever_becomes_of_the_answer(
    pinot: PinotCluster, fake: FakeTasks, fault: Fault | None
) -> None:
    if fault:
        pinot.rest.faults[len(pinot.rest.changes) + 1] = fault
    changes.stop_queue(pinot.ctx, MERGE, actor=ANN)
    assert fake.queues[MERGE] == "STOPPED"
    changes.resume_queue(pinot.ctx, MERGE, actor=ANN)
    assert fake.queues[MERGE] == "IN_PROGRESS"
    assert pinot.rest.changes == [f"PUT /tasks/{MERGE}/stop", f"PUT /tasks/{MERGE}/resume"]
    for change in (changes.stop_queue, changes.resume_queue, changes.clean_up):
        with pytest.raises(NotFound):
            change(pinot.ctx, PURGE, actor=ANN)


def test_only_a_finished_task_of_a_stopped_queue_is_deleted(pinot: PinotCluster, fake: FakeTasks) -> None:
    done, running = fake.add(MERGE, 1), fake.add(MERGE, 2, "IN_PROGRESS")
    with pytest.raises(StateConflict, match="while the queue of its type is stopped"):
        changes.delete_task(pinot.ctx, MERGE, done, actor=ANN)
    fake.queues[MERGE] = "STOPPED"
    with pytest.raises(StateConflict, match="only a finished one"):
        changes.delete_task(pinot.ctx, MERGE, running, actor=ANN)
    changes.delete_task(pinot.ctx, MERGE, done, actor=ANN)
    assert list(fake.tasks[MERGE]) == [running]
    with pytest.raises(NotFound):
        changes.delete_task(pinot.ctx, MERGE, done, actor=ANN)


def test_finished_tasks_are_cleared_together(pinot: PinotCluster, fake: FakeTasks) -> None:
    fake.add(MERGE, 1)
    running = fake.add(MERGE, 2, "IN_PROGRESS")
    changes.clean_up(pinot.ctx, MERGE, actor=ANN)
    assert list(fake.tasks[MERGE]) == [running]
