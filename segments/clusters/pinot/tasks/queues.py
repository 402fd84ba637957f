"""What a real Pinot runs on its minions, as far as its controller reports it: types, queues, schedules, periodic tasks.
Only read here.

Read when somebody opens the page, a few calls each time: two per type of task (``MOST_TYPES`` at most) and five more,
whatever the number of tasks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from segments.clusters.pinot.calls import controller, quoted, refusals_translated
from segments.domain.pinot.minion_tasks import NOT_REPORTED, ReportedTime, asked_for, count_states, reported_time
from segments.errors import NotFound, PinotAdminError, Unavailable
from segments.models import Table
from segments.names import TableName
from segments.services.core.context import Context
from segments.store import paths

#: Types that are asked about; Pinot itself brings less than ten.
MOST_TYPES: Final = 20
_MINION: Final = "Minion_"
#: What Pinot says when its scheduler is off; any other 404 is a version without that path.
_OFF: Final = "disabled"
#: Where in its own objects a controller failed to write an answer; nobody is helped by it.
CHAIN: Final = re.compile(r" \(through reference chain: .*\)")


@dataclass(frozen=True)
class TaskType:
    """One type of minion task: the state of its queue (empty: not reported, or it has none yet) and {state: number} of
    its tasks.

    ``tables`` are those whose config asks for it; ``tasks`` is {task: state}.
    """

    name: str
    queue: str
    counts: dict[str, int]
    tasks: dict[str, str]
    tables: tuple[str, ...] = ()
    has_queue: bool = True


@dataclass(frozen=True)
class Schedule:
    """A type of task that a table's config asks for, or a job of the scheduler. ``cron`` empty: only when it is asked
    for.

    ``is_registered``: whether the scheduler has it, None where that is not reported.
    """

    table: str
    task_type: str
    cron: str = ""
    is_registered: bool | None = None
    next_at: ReportedTime = NOT_REPORTED
    previous_at: ReportedTime = NOT_REPORTED


@dataclass(frozen=True)
class PinotTasks:
    """What the controller runs. ``notes``: what it does not report, and why. ``minions``: those that are alive, None:
    not reported.

    ``scheduler``: ``on``, ``off``, or empty where it is not reported.
    """

    types: tuple[TaskType, ...] = ()
    schedules: tuple[Schedule, ...] = ()
    periodic: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    minions: tuple[str, ...] | None = None
    scheduler: str = ""

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form."""
        return asdict(self)


def read_tasks(ctx: Context) -> PinotTasks:
    """One read; a part that the controller does not answer is a note, not an error. Unavailable when it cannot be
    asked at all.
    """
    notes: list[str] = []
    wanted = wanted_tasks(ctx)
    names = _names(ctx, notes)
    without = sorted({t for types in wanted.values() for t in types} - set(names))
    types = tuple(_type(ctx, name, wanted, notes) for name in names[:MOST_TYPES])
    if len(names) > MOST_TYPES:
        notes.append(f"{len(names)} types of tasks are there; the first {MOST_TYPES} are shown.")
    planned = tuple(TaskType(name, "", {}, {}, tables_with(wanted, name), has_queue=False) for name in without)
    scheduler, jobs = _scheduler(ctx, notes)
    minions = live_minions(ctx)
    if minions == () and (types or planned):
        notes.append("No minion is alive: tasks wait until one runs.")
    return PinotTasks(
        (*types, *planned), _schedules(wanted, jobs), _periodic(ctx, notes), tuple(notes), minions, scheduler
    )


def wanted_tasks(ctx: Context) -> dict[str, dict[str, str]]:
    """{typed table: {type of task: cron expression}} by the table configs as the mirror knows them; nobody is asked."""
    rows = Table.objects.filter(cluster__name=ctx.cluster).order_by("name").values_list("name", "config")
    return {name: found for name, config in rows if (found := asked_for(config))}


def tables_with(wanted: Mapping[str, Mapping[str, str]], task_type: str) -> tuple[str, ...]:
    """Tables whose config asks for this type."""
    return tuple(table for table, types in wanted.items() if task_type in types)


def table_status(ctx: Context, table: TableName) -> dict[str, Any]:
    """What the controller itself says of a table: size, ingestion, segments; each part ``None`` where it does not
    answer.
    """
    parts = {
        "size": (f"/tables/{quoted(table.typed)}/size", None),
        "ingestion": (f"/tables/{quoted(table.raw)}/status", {"type": table.type}),
        "segments": (f"/tables/{quoted(table.raw)}/segmentsStatus", {"tableType": table.type}),
    }
    return {name: _asked(ctx, path, params) for name, (path, params) in parts.items()}


def queue_state(ctx: Context, task_type: str) -> str:
    """The state of a type's queue; empty where it has none, or it is not reported."""
    found = _asked(ctx, f"/tasks/{quoted(task_type)}/state", None)
    return found if isinstance(found, str) else ""


def task_states(ctx: Context, task_type: str) -> dict[str, str]:
    """{task: state} of a type; empty for one that never had a task. NotFound, Unavailable as the controller answers."""
    with refusals_translated(is_change=False):
        states = controller(ctx).get(f"/tasks/{quoted(task_type)}/taskstates")
    return {str(task): str(state) for task, state in states.items()} if isinstance(states, dict) else {}


def _names(ctx: Context, notes: list[str]) -> list[str]:
    try:
        with refusals_translated(is_change=False):
            found = controller(ctx).get("/tasks/tasktypes")
    except PinotAdminError as error:
        _unless_unreachable(error)
        notes.append(f"The types of minion tasks cannot be listed: {error.message}")
        return []
    return sorted(str(n) for n in found) if isinstance(found, list) else []


def _unless_unreachable(error: PinotAdminError) -> None:
    """Raise it again when the controller cannot be used at all: then there is nothing to show."""
    if isinstance(error, Unavailable) and "state" in error.data:
        raise error


def _type(ctx: Context, name: str, wanted: Mapping[str, Mapping[str, str]], notes: list[str]) -> TaskType:
    try:
        tasks = task_states(ctx, name)
    except PinotAdminError as error:
        _unless_unreachable(error)
        notes.append(f"The tasks of type {name} cannot be listed: {error.message}")
        tasks = {}
    return TaskType(name, queue_state(ctx, name), count_states(tasks), tasks, tables_with(wanted, name))


def _scheduler(
    ctx: Context, notes: list[str]
) -> tuple[str, dict[tuple[str, str], tuple[ReportedTime, ReportedTime]] | None]:
    """Whether the scheduler is on, and {(table, type): (next run, last run)} of its jobs; None: not reported."""
    try:
        with refusals_translated(is_change=False):
            found = controller(ctx).get("/tasks/scheduler/information")
    except NotFound as error:
        _note_scheduler(notes, error)
        return ("off" if _OFF in error.message else ""), {}
    except PinotAdminError as error:
        _unless_unreachable(error)
        notes.append(f"The controller does not say when schedules run: {CHAIN.sub('', error.message)}")
        return _keys(ctx)
    jobs = found.get("JobDetails") or [] if isinstance(found, dict) else []
    return "on", {
        _key(j.get("JobKey")): (reported_time(j.get("NextFireTime")), reported_time(j.get("PreviousFireTime")))
        for j in _dicts(jobs)
    }


def _note_scheduler(notes: list[str], error: NotFound) -> None:
    text = "The scheduler of minion tasks is switched off in this cluster (controller.task.scheduler.enabled)."
    is_off = _OFF in error.message
    notes.append(
        f"{text} Schedules of tables do not run automatically."
        if is_off
        else f"Schedules cannot be read: {error.message}"
    )


def _keys(ctx: Context) -> tuple[str, dict[tuple[str, str], tuple[ReportedTime, ReportedTime]] | None]:
    """At least which jobs there are, where their times cannot be read."""
    found = _asked(ctx, "/tasks/scheduler/jobKeys", None)
    return (
        ("on", {_key(job): (NOT_REPORTED, NOT_REPORTED) for job in _dicts(found)})
        if isinstance(found, list)
        else ("", None)
    )


def _schedules(
    wanted: Mapping[str, Mapping[str, str]], jobs: Mapping[tuple[str, str], tuple[ReportedTime, ReportedTime]] | None
) -> tuple[Schedule, ...]:
    rows = {(table, name): cron for table, types in wanted.items() for name, cron in types.items()}
    nothing = (NOT_REPORTED, NOT_REPORTED)
    return tuple(
        Schedule(*key, rows.get(key, ""), None if jobs is None else key in jobs, *(jobs or {}).get(key, nothing))
        for key in sorted({*rows, *(jobs or {})})
    )


def live_minions(ctx: Context) -> tuple[str, ...] | None:
    """Minions that are alive; None where that cannot be read."""
    try:
        return tuple(sorted(i for i in ctx.store.children(paths.LIVE_INSTANCES) if i.startswith(_MINION)))
    except PinotAdminError:
        return None


def _periodic(ctx: Context, notes: list[str]) -> tuple[str, ...]:
    found = _asked(ctx, "/periodictask/names", None)
    if not isinstance(found, list):
        notes.append("The periodic tasks of the controller cannot be listed.")
        return ()
    return tuple(sorted(str(n) for n in found))


def _asked(ctx: Context, path: str, params: dict[str, Any] | None) -> Any:
    try:
        with refusals_translated(is_change=False):
            return controller(ctx).get(path, params)
    except PinotAdminError:
        return None


def _key(job: Any) -> tuple[str, str]:
    """A job of the scheduler is named by its table, in the group of its type."""
    return (str(job.get("name", "")), str(job.get("group", ""))) if isinstance(job, dict) else ("", "")


def _dicts(found: Any) -> list[dict[str, Any]]:
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
