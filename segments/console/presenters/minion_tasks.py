"""Minion tasks of a Pinot cluster as a page shows them: states as badges, numbers of sub-tasks as words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from segments.clusters.pinot.tasks.queues import Schedule, TaskType
from segments.console.presenters.badges import Mark, mark
from segments.domain.pinot.minion_tasks import STOPPED, MinionTask

#: Errors of one task that a list shows; its own page shows all.
_SHOWN = 2


@dataclass(frozen=True)
class TypeLine:
    """One type: its queue as a badge, tasks by state as badges with their number."""

    task_type: TaskType
    queue: Mark
    counts: Sequence[tuple[Mark, int]]

    @property
    def is_stopped(self) -> bool:
        """Does its queue stand still?"""
        return self.task_type.queue == STOPPED


@dataclass(frozen=True)
class TaskLine:
    """One task: its state, its sub-tasks in words, and what went wrong."""

    task: MinionTask
    mark: Mark
    parts: str
    errors: Sequence[str]
    more_errors: int = 0


def type_line(task_type: TaskType) -> TypeLine:
    """A type's line."""
    return TypeLine(
        task_type,
        queue_mark(task_type.queue, has_queue=task_type.has_queue),
        [(mark(s), n) for s, n in task_type.counts.items()],
    )


def queue_mark(state: str, *, has_queue: bool = True) -> Mark:
    """A queue's state; IN_PROGRESS is how Helix calls one that takes tasks."""
    if not has_queue:
        return Mark("no queue yet", "idle", "dot")
    if state == "IN_PROGRESS":
        return Mark("open", "ok", "check")
    return mark(state) if state else Mark("not known", "idle", "dot")


def task_line(task: MinionTask) -> TaskLine:
    """A task's line."""
    return TaskLine(task, _mark(task), _parts(task), task.errors[:_SHOWN], max(len(task.errors) - _SHOWN, 0))


def schedule_words(schedule: Schedule, scheduler: str) -> str:
    """Whether a schedule runs, and if not why; empty when it does."""
    if not schedule.cron and not schedule.is_registered:
        return "no schedule: runs only when somebody starts it"
    if scheduler == "off":
        return "the scheduler is off"
    if schedule.is_registered is False:
        return "the scheduler does not have it"
    return "" if schedule.is_registered else "whether the scheduler has it is not known"


def _mark(task: MinionTask) -> Mark:
    """Pinot ends a task as COMPLETED even when every sub-task failed: that is not a green badge."""
    if task.state == "COMPLETED" and task.failed:
        return Mark(f"COMPLETED, {task.failed} failed", "bad", "alert")
    return mark(task.state)


def _parts(task: MinionTask) -> str:
    if task.total is None:
        return ""
    counts = ((task.running, "running"), (task.waiting, "waiting"), (task.failed, "failed"))
    return ", ".join([f"{task.completed} of {task.total} done", *(f"{n} {word}" for n, word in counts if n)])
