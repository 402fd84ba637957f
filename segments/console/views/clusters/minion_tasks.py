"""Minion tasks of a Pinot cluster: types with their queues, schedules of tables, tasks with their sub-tasks; and their
buttons.

The controller is asked when somebody opens a page, a bounded number of times (``clusters/pinot/tasks/queues.py``); no
page asks unless somebody opens it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from segments.clusters.pinot.tasks import changes as pinot_task_changes
from segments.clusters.pinot.tasks import listing as pinot_task_list
from segments.clusters.pinot.tasks import queues as pinot_tasks
from segments.clusters.pinot.tasks.queues import PinotTasks
from segments.console.access import ADMINISTER, find_table, may, page, reads
from segments.console.cluster_address import ctx_of
from segments.console.listing import asked, page_number
from segments.console.operation import Operation, Outcome, Target, back_to
from segments.console.presenters import minion_tasks as presenter
from segments.console.presenters.badges import mark
from segments.domain.formats.plural import counted
from segments.domain.pinot.minion_tasks import STOPPED
from segments.errors import InvalidInput, NotFound, PinotAdminError
from segments.services.core.context import Actor, Context

#: Sub-tasks that a task's page lists; failed ones come first.
_SHOWN: Final = 200
_FINISHED: Final = "Pinot forgets finished tasks about a day after their end; their results stay where they are."


@page
@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """Types, schedules and periodic tasks as the controller reports them now; what it does not report is stated with
    the reason.
    """
    ctx, problem, found, status = _pinot(request), None, PinotTasks(), HTTPStatus.OK
    try:
        found = pinot_tasks.read_tasks(ctx)
    except PinotAdminError as error:
        problem, status = error, HTTPStatus.FAILED_DEPENDENCY
    wanted = asked(request, "table")["table"]
    schedules = [(s, presenter.schedule_words(s, found.scheduler)) for s in found.schedules if wanted in ("", s.table)]
    context = {
        "found": found,
        "types": [presenter.type_line(t) for t in found.types],
        "schedules": schedules,
        "problem": problem,
        "table": wanted,
        "may_administer": may(request, ADMINISTER),
    }
    return render(request, "console/minion_tasks.html", context, status=status)


@page
@require_safe
def of_type(request: HttpRequest, task_type: str) -> HttpResponse:
    """One type's tasks, newest first, and the tables that ask for it."""
    found = pinot_task_list.read_type(_pinot(request), task_type, page_number(request.GET.get("page")))
    context = {
        "found": found,
        "lines": [presenter.task_line(t) for t in found.tasks],
        "listing": found,
        "is_stopped": found.queue == STOPPED,
        "queue": presenter.queue_mark(found.queue, has_queue=bool(found.queue or found.total)),
        "may_administer": may(request, ADMINISTER),
        "first": (found.number - 1) * pinot_task_list.PAGE + 1,
        "last": (found.number - 1) * pinot_task_list.PAGE + len(found.tasks),
    }
    return render(request, "console/minion_task_type.html", context)


@page
@require_safe
def one(request: HttpRequest, task_type: str, name: str) -> HttpResponse:
    """One task with its sub-tasks, failed ones first."""
    ctx = _pinot(request)
    task = pinot_task_list.read_task(ctx, task_type, name)
    subtasks = sorted(task.subtasks, key=lambda s: not s.is_failed)
    context = {
        "task_type": task_type,
        "line": presenter.task_line(task),
        "task": task,
        "may_administer": may(request, ADMINISTER),
        "subtasks": [(s, mark(s.state)) for s in subtasks[:_SHOWN]],
        "hidden": max(len(subtasks) - _SHOWN, 0),
        "why_not": pinot_task_changes.why_not_deleted(task.state, pinot_tasks.queue_state(ctx, task_type)),
    }
    return render(request, "console/minion_task.html", context)


def _has_minions(target: Target) -> None:
    _pinot(target.request)


def _to_schedule(target: Target, plain: Operation) -> Operation:
    task_type, typed = target.value("type"), target.value("table")
    if not task_type or not typed:
        raise InvalidInput(
            "Which type of task, and for which table?", remedy="Use the buttons of the page Minion tasks."
        )
    table, _ = find_table(target.request, typed)
    return replace(
        plain,
        title=f"Schedule {task_type} now",
        lists=[("Table", [table.name])],
        hold={"type": [task_type], "table": [table.name]},
    )


def _run_schedule(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    task_type, table = target.value("type"), find_table(target.request, target.value("table"))[0].name
    made = pinot_task_changes.schedule_now(target.ctx, task_type, table, actor=actor)
    if not made:
        return Outcome(
            f"Pinot found nothing to do for {task_type} in {table}, or is still searching: no task was made."
        )
    return Outcome(
        f"Pinot made {counted(len(made), 'task')} of type {task_type} for {table}.",
        reverse("console:task", args=[task_type, made[0]]),
        "The task",
    )


#: Pinot searches for work of a type in a table now.
SCHEDULE: Final = Operation(
    action="scheduleTask",
    title="Schedule a task now",
    button="Schedule now",
    right=ADMINISTER,
    place="tasks",
    find=_has_minions,
    explain=[
        "Pinot searches the table's segments as it does on its schedule, and makes a task only if there is "
        "something to do.",
        "The task's minions read segments and, as its config says, replace them by new ones. What it has replaced "
        "is not undone by stopping it.",
    ],
    preview=_to_schedule,
    run=_run_schedule,
    back=lambda target: reverse("console:task_type", args=[target.value("type")]),
)


def _of_type(target: Target, plain: Operation) -> Operation:
    """The texts of a queue's button, with the type of task in them."""
    task_type = target.arguments["task_type"]
    return replace(
        plain,
        title=plain.title.format(task_type),
        explain=[sentence.format(task_type) for sentence in plain.explain],
        lists=[("Type of task", [task_type])],
    )


def _run_stop(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    task_type = target.arguments["task_type"]
    pinot_task_changes.stop_queue(target.ctx, task_type, actor=actor)
    resume = reverse("console:resume_tasks", args=[task_type])
    return Outcome(f"The queue of {task_type} is stopping; it may take a moment to show.", resume, "Resume it")


STOP: Final = Operation(
    action="stopTaskQueue",
    title="Stop {}",
    button="Stop the queue",
    right=ADMINISTER,
    place="tasks",
    find=_has_minions,
    explain=[
        "All running tasks of type {}, of every table, are stopped, and none begins until the queue is resumed.",
        "Schedules go on making tasks, which wait. Undo: resume, which lets stopped tasks go on.",
    ],
    preview=_of_type,
    run=_run_stop,
    back=back_to("task_type", "task_type"),
)


def _run_resume(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    task_type = target.arguments["task_type"]
    pinot_task_changes.resume_queue(target.ctx, task_type, actor=actor)
    stop = reverse("console:stop_tasks", args=[task_type])
    return Outcome(f"The queue of {task_type} goes on.", stop, "Stop it again")


RESUME: Final = replace(
    STOP,
    action="resumeTaskQueue",
    title="Resume {}",
    button="Resume the queue",
    explain=["The queue takes tasks of type {} again, and those that were stopped go on.", "Undo: stop it again."],
    run=_run_resume,
)


def _run_clean_up(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    task_type = target.arguments["task_type"]
    pinot_task_changes.clean_up(target.ctx, task_type, actor=actor)
    return Outcome(f"The finished tasks of type {task_type} are deleted.")


CLEAN_UP: Final = replace(
    STOP,
    action="cleanUpTasks",
    title="Delete finished tasks of {}",
    button="Delete them",
    explain=[
        "Pinot forgets all finished tasks of type {}, with the messages of their sub-tasks. It cannot be undone.",
        _FINISHED,
    ],
    run=_run_clean_up,
)


def _to_delete(target: Target, plain: Operation) -> Operation:
    task_type, name = target.arguments["task_type"], target.arguments["name"]
    state = pinot_tasks.task_states(target.ctx, task_type).get(name)
    if state is None:
        raise NotFound(f"There is no task '{name}' of type '{task_type}'.", remedy="It is gone already.")
    why_not = pinot_task_changes.why_not_deleted(state, pinot_tasks.queue_state(target.ctx, task_type))
    return replace(plain, lists=[("Task", [name])], why_not=why_not)


def _run_delete(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    task_type, name = target.arguments["task_type"], target.arguments["name"]
    pinot_task_changes.delete_task(target.ctx, task_type, name, actor=actor)
    return Outcome(f"{name} is deleted.")


DELETE: Final = Operation(
    action="deleteTask",
    title="Delete a task",
    button="Delete it",
    right=ADMINISTER,
    place="tasks",
    find=_has_minions,
    explain=["Pinot forgets this task, with the messages of its sub-tasks. It cannot be undone.", _FINISHED],
    preview=_to_delete,
    run=_run_delete,
    back=back_to("task_type", "task_type"),
)


def _pinot(request: HttpRequest) -> Context:
    reads(request, None)  # tasks name tables of all kinds
    ctx = ctx_of(request)
    if not ctx.engine.offers.minion_tasks:
        raise NotFound(
            "The installation's own cluster has no minions.", remedy="What it does instead is on the page Passes."
        )
    return ctx
