"""Changes of minion tasks of a real Pinot: schedule now, stop and resume a queue, clear what is finished. Each is
audited.
"""

from __future__ import annotations

from typing import Any

from segments.clusters.pinot.calls import quoted
from segments.clusters.pinot.changes import change
from segments.clusters.pinot.tasks.queues import queue_state, task_states
from segments.domain.pinot.minion_tasks import FINAL, STOPPED
from segments.errors import NotFound, StateConflict
from segments.services.core.context import Actor, Context

#: Where newer versions put what went wrong, next to {type: names of tasks}.
_ERRORS = ("generationErrors", "schedulingErrors")


def schedule_now(ctx: Context, task_type: str, table: str, *, actor: Actor) -> list[str]:
    """Have Pinot generate tasks of this type for a table (typed name) now; returns the tasks that it made, none when
    there is nothing to do.

    After a lost answer the tasks themselves are read. NotFound, StateConflict with Pinot's reason when it could make
    none.
    """
    before = set(task_states(ctx, task_type))

    def new() -> list[str]:
        return sorted(set(task_states(ctx, task_type)) - before)

    answer = change(
        ctx,
        actor,
        "scheduleTask",
        table,
        ("POST", "/tasks/schedule"),
        params={"taskType": task_type, "tableName": table},
        is_done=new,
        taskType=task_type,
    )
    if answer is None:
        return new()
    made = _names(answer, task_type)
    problems = "; ".join(text for key in _ERRORS if (text := str(answer.get(key) or "")))
    if problems and not made:
        raise StateConflict(
            f"Pinot made no task of type {task_type} for '{table}': {problems}", remedy="Correct what it names."
        )
    return made


def stop_queue(ctx: Context, task_type: str, *, actor: Actor) -> None:
    """Stop the queue of a type with all its running tasks. NotFound for a type without one."""
    _require_queue(ctx, task_type)
    request = ("PUT", f"/tasks/{quoted(task_type)}/stop")
    change(ctx, actor, "stopTaskQueue", task_type, request, is_done=lambda: queue_state(ctx, task_type) == STOPPED)


def resume_queue(ctx: Context, task_type: str, *, actor: Actor) -> None:
    """Let a stopped queue and its tasks go on. NotFound for a type without one."""
    _require_queue(ctx, task_type)
    request = ("PUT", f"/tasks/{quoted(task_type)}/resume")
    change(
        ctx,
        actor,
        "resumeTaskQueue",
        task_type,
        request,
        is_done=lambda: queue_state(ctx, task_type) not in ("", STOPPED, "STOPPING"),
    )


def clean_up(ctx: Context, task_type: str, *, actor: Actor) -> None:
    """Have Pinot forget the finished tasks of a type. It may be requested twice. NotFound for a type
    without a queue.
    """
    _require_queue(ctx, task_type)
    request = ("PUT", f"/tasks/{quoted(task_type)}/cleanup")
    change(
        ctx,
        actor,
        "cleanUpTasks",
        task_type,
        request,
        is_done=lambda: not FINAL & set(task_states(ctx, task_type).values()),
    )


def delete_task(ctx: Context, task_type: str, name: str, *, actor: Actor) -> None:
    """Have Pinot forget one finished task; its queue must be stopped. NotFound; StateConflict while it runs or the
    queue does.
    """
    state = task_states(ctx, task_type).get(name)
    if state is None:
        raise NotFound(f"There is no task '{name}' of type '{task_type}'.", remedy="It is gone already.")
    why = why_not_deleted(state, queue_state(ctx, task_type))
    if why:
        raise StateConflict(why, remedy="")
    request = ("DELETE", f"/tasks/task/{quoted(name)}")
    change(
        ctx,
        actor,
        "deleteTask",
        name,
        request,
        is_done=lambda: name not in task_states(ctx, task_type),
        taskType=task_type,
    )


def why_not_deleted(state: str, queue: str) -> str:
    """Why a task in this state cannot be deleted while its queue is in that one (Helix refuses it); empty: it can."""
    if state not in FINAL:
        return f"The task is {state}; only a finished one can be deleted."
    if queue != STOPPED:
        return (
            "Pinot deletes a task only while the queue of its type is stopped. Stop it first, or clear all finished "
            "tasks."
        )
    return ""


def _require_queue(ctx: Context, task_type: str) -> None:
    if not queue_state(ctx, task_type):
        raise NotFound(
            f"Task type '{task_type}' has no queue.", remedy="It gets one when Pinot first makes a task of it."
        )


def _names(answer: Any, task_type: str) -> list[str]:
    """Tasks of the answer {type: names with commas between, or null}."""
    made = answer.get(task_type) if isinstance(answer, dict) else None
    return [name for name in str(made or "").split(",") if name]
