"""Minion tasks, their schedules and the periodic tasks of a real Pinot, as far as its REST tells; only read here."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from segments.errors import NotFound, PinotAdminError
from segments.gateways.pinot import PinotRefused
from segments.names import TableName
from segments.services.context import Context
from segments.services.pinot_calls import controller, quoted, refusals_told


@dataclass(frozen=True)
class TaskType:
    """One type of minion task: the state of its queue, and {state: number} of its tasks."""

    name: str
    queue: str
    counts: dict[str, int]
    tasks: dict[str, str]


@dataclass(frozen=True)
class Schedule:
    """One job of the scheduler. Times as Pinot tells them, epoch milliseconds where they are numbers."""

    table: str
    task_type: str
    next_at: Any
    previous_at: Any


@dataclass(frozen=True)
class PinotTasks:
    """What the controller runs. ``notes``: what it does not tell, and why."""

    types: tuple[TaskType, ...] = ()
    schedules: tuple[Schedule, ...] = ()
    periodic: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form."""
        return asdict(self)


def read_tasks(ctx: Context) -> PinotTasks:
    """One look; a part that the controller does not answer is a note, not an error. Unavailable when it answers nothing."""
    notes: list[str] = []
    try:
        found = controller(ctx).get("/tasks/tasktypes")
        names = [str(n) for n in found] if isinstance(found, list) else []
    except PinotRefused:  # what an old version says while there is no task
        names = []
        notes.append("The controller lists no types of minion tasks: no minion has ever run one.")
    types = tuple(t for name in sorted(names) if (t := _type(ctx, name, notes)) is not None)
    return PinotTasks(types, _schedules(ctx, notes), _periodic(ctx, notes), tuple(notes))


def table_status(ctx: Context, table: TableName) -> dict[str, Any]:
    """What the controller itself says of a table: size, ingestion, segments; each part ``None`` where it does not answer."""
    parts = {
        "size": (f"/tables/{quoted(table.typed)}/size", None),
        "ingestion": (f"/tables/{quoted(table.raw)}/status", {"type": table.type}),
        "segments": (f"/tables/{quoted(table.raw)}/segmentsStatus", {"tableType": table.type}),
    }
    return {name: _asked(ctx, path, params) for name, (path, params) in parts.items()}


def _type(ctx: Context, name: str, notes: list[str]) -> TaskType | None:
    states = _asked(ctx, f"/tasks/{quoted(name)}/taskstates", None)
    if not isinstance(states, dict):
        notes.append(f"The tasks of type {name} can not be listed.")
        return None
    tasks = {str(task): str(state) for task, state in states.items()}
    counts: dict[str, int] = {}
    for state in tasks.values():
        counts[state] = counts.get(state, 0) + 1
    queue = _asked(ctx, f"/tasks/{quoted(name)}/state", None)
    return TaskType(name, queue if isinstance(queue, str) else "", counts, tasks)


def _schedules(ctx: Context, notes: list[str]) -> tuple[Schedule, ...]:
    try:
        with refusals_told(is_change=False):
            found = controller(ctx).get("/tasks/scheduler/information")
    except NotFound:
        notes.append("The scheduler of minion tasks is switched off in this cluster (controller.task.scheduler.enabled).")
        return ()
    except PinotAdminError as error:
        notes.append(f"The schedules of minion tasks can not be read: {error.message}")
        return ()
    jobs = found.get("JobDetails") if isinstance(found, dict) else None
    return tuple(_schedule(job) for job in (jobs if isinstance(jobs, list) else []) if isinstance(job, dict))


def _schedule(job: dict[str, Any]) -> Schedule:
    told = job.get("JobKey")
    key = told if isinstance(told, dict) else {}
    return Schedule(str(key.get("name", "")), str(key.get("group", "")), job.get("NextFireTime"), job.get("PreviousFireTime"))


def _periodic(ctx: Context, notes: list[str]) -> tuple[str, ...]:
    found = _asked(ctx, "/periodictask/names", None)
    if not isinstance(found, list):
        notes.append("The periodic tasks of the controller can not be listed.")
        return ()
    return tuple(sorted(str(n) for n in found))


def _asked(ctx: Context, path: str, params: dict[str, Any] | None) -> Any:
    try:
        with refusals_told(is_change=False):
            return controller(ctx).get(path, params)
    except PinotAdminError:
        return None
