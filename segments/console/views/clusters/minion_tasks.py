"""Minion tasks of a Pinot cluster: types with their queues, schedules of tables, tasks with their sub-tasks; and their
buttons.

The controller is asked when somebody opens a page, a bounded number of times (``clusters/pinot/tasks/queues.py``); no
page asks by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from segments.clusters.pinot.tasks import changes as pinot_task_changes
from segments.clusters.pinot.tasks import listing as pinot_task_list
from segments.clusters.pinot.tasks import queues as pinot_tasks
from segments.clusters.pinot.tasks.queues import PinotTasks
from segments.console.access import ADMINISTER, find_table, may, page, reads
from segments.console.cluster_address import ctx_of
from segments.console.listing import asked, page_number
from segments.console.operation import Operation, Outcome, perform
from segments.console.presenters import minion_tasks as presenter
from segments.console.presenters.badges import mark
from segments.domain.pinot.minion_tasks import STOPPED
from segments.errors import InvalidInput, NotFound, PinotAdminError
from segments.services.core.context import Actor, Context

#: Sub-tasks that a task's page lists; failed ones come first.
_SHOWN: Final = 200
_FINISHED: Final = (
    "Pinot forgets finished tasks by itself about a day after their end; their results stay where they are."
)


@page
@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """Types, schedules and periodic tasks as the controller tells them now; what it does not tell is said with the
    reason.
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


@page
@require_http_methods(["GET", "HEAD", "POST"])
def schedule(request: HttpRequest) -> HttpResponse:
    """Have Pinot look for work of a type in a table now."""
    _pinot(request)
    values = request.POST if request.method == "POST" else request.GET
    task_type, typed = values.get("type", ""), values.get("table", "")
    if not task_type or not typed:
        raise InvalidInput(
            "Which type of task, and for which table?", remedy="Use the buttons of the page Minion tasks."
        )
    table, _ = find_table(request, typed)
    back = reverse("console:task_type", args=[task_type])

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        made = pinot_task_changes.schedule_now(ctx, task_type, table.name, actor=actor)
        if not made:
            return Outcome(
                f"Pinot found nothing to do for {task_type} in {table.name}, or it is still at it: no task was made."
            )
        link = reverse("console:task", args=[task_type, made[0]])
        return Outcome(
            f"Pinot made {len(made)} task{'' if len(made) == 1 else 's'} of type {task_type} for {table.name}.",
            link,
            "Look at it",
        )

    operation = Operation(
        action="scheduleTask",
        title=f"Schedule {task_type} now",
        button="Schedule now",
        back=back,
        run=run,
        items=[table.name],
        items_title="Table",
        hold={"type": [task_type], "table": [table.name]},
        right=ADMINISTER,
        place="tasks",
        explain=[
            "Pinot looks at the table's segments as it does on its schedule, and makes a task only if there is "
            "something to do.",
            "The task's minions read segments and, as its config says, replace them by new ones. What it has "
            "replaced is not undone by "
            "stopping it.",
        ],
    )
    return perform(request, None, operation)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def stop(request: HttpRequest, task_type: str) -> HttpResponse:
    """Stop a type's queue."""
    undo = reverse("console:resume_tasks", args=[task_type])

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        pinot_task_changes.stop_queue(ctx, task_type, actor=actor)
        return Outcome(f"The queue of {task_type} was told to stop; it may take a moment to show.", undo, "Resume it")

    explain = [
        f"All running tasks of type {task_type}, of every table, are stopped, and none begins until the queue is "
        "resumed.",
        "Schedules go on making tasks, which wait. Undo: resume, which lets stopped tasks go on.",
    ]
    return _of_queue(request, task_type, "stopTaskQueue", f"Stop {task_type}", "Stop the queue", explain, run)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def resume(request: HttpRequest, task_type: str) -> HttpResponse:
    """Let it go on."""
    undo = reverse("console:stop_tasks", args=[task_type])

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        pinot_task_changes.resume_queue(ctx, task_type, actor=actor)
        return Outcome(f"The queue of {task_type} goes on.", undo, "Stop it again")

    explain = [
        f"The queue takes tasks of type {task_type} again, and those that were stopped go on.",
        "Undo: stop it again.",
    ]
    return _of_queue(request, task_type, "resumeTaskQueue", f"Resume {task_type}", "Resume the queue", explain, run)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def clean_up(request: HttpRequest, task_type: str) -> HttpResponse:
    """Forget its finished tasks."""

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        pinot_task_changes.clean_up(ctx, task_type, actor=actor)
        return Outcome(f"The finished tasks of type {task_type} are cleared away.")

    explain = [
        f"Pinot forgets all finished tasks of type {task_type}, with what their sub-tasks said. It can not be undone.",
        _FINISHED,
    ]
    return _of_queue(
        request, task_type, "cleanUpTasks", f"Clear finished tasks of {task_type} away", "Clear away", explain, run
    )


@page
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, task_type: str, name: str) -> HttpResponse:
    """Forget one finished task."""
    ctx = _pinot(request)
    state = pinot_tasks.task_states(ctx, task_type).get(name)
    if state is None:
        raise NotFound(f"There is no task '{name}' of type '{task_type}'.", remedy="It is gone already.")

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        pinot_task_changes.delete_task(ctx, task_type, name, actor=actor)
        return Outcome(f"{name} is deleted.")

    operation = Operation(
        action="deleteTask",
        title="Delete a task",
        button="Delete it",
        back=reverse("console:task_type", args=[task_type]),
        run=run,
        explain=["Pinot forgets this task, with what its sub-tasks said. It can not be undone.", _FINISHED],
        items=[name],
        items_title="Task",
        right=ADMINISTER,
        place="tasks",
        why_not=pinot_task_changes.why_not_deleted(state, pinot_tasks.queue_state(ctx, task_type)),
    )
    return perform(request, None, operation)


def _of_queue(
    request: HttpRequest, task_type: str, action: str, title: str, button: str, explain: Sequence[str],
    run: Callable[[Context, Mapping[str, Any], Actor], Outcome],
) -> HttpResponse:  # fmt: skip
    _pinot(request)
    operation = Operation(
        action=action,
        title=title,
        button=button,
        explain=explain,
        back=reverse("console:task_type", args=[task_type]),
        run=run,
        items=[task_type],
        items_title="Type of task",
        right=ADMINISTER,
        place="tasks",
    )
    return perform(request, None, operation)


def _pinot(request: HttpRequest) -> Context:
    reads(request, None)  # tasks name tables of all kinds
    ctx = ctx_of(request)
    if not ctx.engine.offers.minion_tasks:
        raise NotFound(
            "The installation's own cluster has no minions.", remedy="What it does by itself is on the page Passes."
        )
    return ctx
