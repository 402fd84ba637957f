"""Reads the tasks of this installation as Pinot's REST API names them: runs of file ingestion sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from segments.domain.ingestion.session import FileRecord
from segments.domain.ingestion.task_config import TASK_TYPE, task_map
from segments.domain.ingestion.task_runs import (
    TaskRun,
    counts,
    runs_of,
    subtask_names,
    subtask_progress,
    worker_of,
    worker_state,
)
from segments.domain.tables.secret_masks import mask
from segments.errors import NotFound
from segments.names import OFFLINE, TableName, shown, split_table_name
from segments.services.core.context import Context
from segments.services.ingestion import sessions
from segments.services.schedules.schedule_records import read_schedule
from segments.services.tables.table_record import find_table_config
from segments.store import paths

Reads = Callable[[str], bool]


def require_type(task_type: str) -> None:
    """NotFound for a type of task that nothing runs here."""
    if task_type != TASK_TYPE:
        raise NotFound(
            f"Unknown task type: '{shown(task_type)}'.", remedy=f"This cluster runs tasks of type {TASK_TYPE} only."
        )


def all_runs(ctx: Context, may_read: Reads) -> list[TaskRun]:
    """Every run on record of the tables that may be read."""
    return [run for table in _tables(ctx) if may_read(table.typed) for run in table_runs(ctx, table)]


def table_runs(ctx: Context, table: TableName) -> list[TaskRun]:
    """Every run on record of one table."""
    return runs_of(table.typed, sessions.history(ctx, table))


def find_run(ctx: Context, name: str) -> TaskRun:
    """The run of that name. NotFound."""
    found = next((run for run in all_runs(ctx, lambda _: True) if run.name == name), None)
    if found is None:
        raise NotFound(
            f"There is no task '{shown(name)}'.", remedy="Runs are kept with the newest sessions of their table."
        )
    return found


def files_of(ctx: Context, run: TaskRun) -> list[FileRecord]:
    """The files of a run; of an earlier run than the session's last they are not on record."""
    return list(sessions.files_of(ctx, run.session)) if run.is_last else []


def workers_progress(ctx: Context, may_read: Reads, state: str, workers: frozenset[str]) -> dict[str, dict[str, str]]:
    """{worker: {sub-task in this state: how far it is}} of the runs under way; of these workers, where any are named.
    A worker without such a sub-task is left out.
    """
    found: dict[str, dict[str, str]] = {}
    for run in all_runs(ctx, may_read):
        worker = worker_of(run)
        if worker and (not workers or worker in workers):
            files = subtask_names(run, files_of(ctx, run)).items()
            of_state = {name: subtask_progress(file) for name, file in files if worker_state(file) == state}
            found.setdefault(worker, {}).update(of_state)
    return {worker: tasks for worker, tasks in found.items() if tasks}


def configs_of(ctx: Context, run: TaskRun) -> dict[str, str]:
    """The keys of the task in the table's config as it is now, secrets masked; none when it has no task any more."""
    raw, _ = split_table_name(run.table)
    config = find_table_config(ctx, TableName(raw, OFFLINE))
    return dict(mask(task_map(config) or {})) if config is not None else {}


def queue_state(ctx: Context, runs: list[TaskRun]) -> str:
    """Helix's state of the queue of a type: STOPPING while something runs that was begun before it was stopped."""
    return _stopped(bool(read_schedule(ctx, TASK_TYPE).stop), runs)


def summary(ctx: Context, may_read: Reads, tenant: str | None) -> dict[str, Any]:
    """Sub-tasks that run or wait, by server tenant and type."""
    found: dict[str, Counter[str]] = {}
    for run in all_runs(ctx, may_read):
        if run.is_running:
            number = counts(run, files_of(ctx, run))
            found.setdefault(_tenant(ctx, run), Counter()).update(
                {"running": number["running"], "waiting": number["waiting"]}
            )
    chosen = {name: one for name, one in sorted(found.items()) if tenant in (None, name)}
    return {
        "totalRunningTasks": sum(one["running"] for one in chosen.values()),
        "totalWaitingTasks": sum(one["waiting"] for one in chosen.values()),
        "taskBreakdown": [_of_tenant(name, one["running"], one["waiting"]) for name, one in chosen.items()],
    }


def _of_tenant(name: str, running: int, waiting: int) -> dict[str, Any]:
    by_type = [{"taskType": TASK_TYPE, "runningCount": running, "waitingCount": waiting}]
    return {"tenant": name, "runningTasks": running, "waitingTasks": waiting, "taskTypeBreakdown": by_type}


def _tenant(ctx: Context, run: TaskRun) -> str:
    raw, _ = split_table_name(run.table)
    config = find_table_config(ctx, TableName(raw, OFFLINE))
    tenants = config.body.get("tenants") if config is not None else None
    return str((tenants or {}).get("server") or "DefaultTenant")


def _stopped(is_stopped: bool, runs: list[TaskRun]) -> str:
    if not is_stopped:
        return "IN_PROGRESS"
    return "STOPPING" if any(run.is_running for run in runs) else "STOPPED"


def _tables(ctx: Context) -> list[TableName]:
    names = (split_table_name(name) for name in ctx.store.children(paths.MINION_TASK_METADATA))
    return [TableName(raw, OFFLINE) for raw, kind in names if kind == OFFLINE]
