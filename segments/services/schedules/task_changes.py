"""What Pinot's task endpoints change: tasks scheduled now, sessions forgotten, cleaned up."""

from __future__ import annotations

from dataclasses import dataclass, field

from segments.domain.ingestion.task_config import TASK_TYPE, task_map
from segments.errors import InvalidInput, NotFound, PinotAdminError, StateConflict
from segments.names import OFFLINE, TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.ingestion import sessions
from segments.services.ingestion.session_store import remove_unneeded, tables_with_sessions
from segments.services.ingestion.sessions import TriggerResult
from segments.services.schedules.task_runs import all_runs
from segments.services.schedules.task_start import start_now
from segments.services.tables.table_record import find_table_config
from segments.services.tables.tables import list_tables


@dataclass
class Scheduled:
    """What came of scheduling: names of the runs that began; ``errors`` of tables of which none began although it was
    to; ``notes`` of those with nothing to do.
    """

    tasks: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, str]:
        """Pinot's answer; ``notes`` is an addition."""
        found = {
            TASK_TYPE: ",".join(self.tasks),
            "generationErrors": "; ".join(self.errors),
            "schedulingErrors": "",
        }
        return {**found, "notes": "; ".join(self.notes)} if self.notes else found


def schedule_tasks(ctx: Context, table: TableName | None, actor: Actor) -> Scheduled:
    """Begin a run for this table, or for every table that has the task. A table whose run is under way is left alone,
    and named in ``errors``. What is refused for the one table, or for all, is raised: NotFound, InvalidInput,
    StateConflict, Unavailable.
    """
    found, refused = Scheduled(), list[str]()
    tables = [table] if table is not None else _with_task(ctx)
    for each in tables:
        try:
            name, result = run_now(ctx, each, actor)
        except PinotAdminError as error:
            if table is not None:
                raise
            refused.append(f"{each}: {error}")
            continue
        if name:
            found.tasks.append(name)
        else:
            (found.errors if result.is_busy else found.notes).append(f"{each}: {result.why}")
    found.errors += refused
    if refused and not found.tasks:
        raise StateConflict(f"No task was scheduled: {'; '.join(found.errors)}", remedy="Correct what it names.")
    return found


def run_now(ctx: Context, table: TableName, actor: Actor) -> tuple[str, TriggerResult]:
    """Begin a run of the table's task; its name, empty when none began, and what became of it. Raises as ``start_now``;
    NotFound; InvalidInput for a table without the task.
    """
    config = find_table_config(ctx, table)
    if config is None:
        raise NotFound(f"Table '{table}' does not exist.", remedy="List the tables with GET /tables.")
    if task_map(config) is None:
        raise InvalidInput(
            f"Table '{table}' does not have task type {TASK_TYPE}.",
            remedy="Add it to task.taskTypeConfigsMap of its config.",
        )
    result = start_now(ctx, table, actor)
    if result.session_id is None:
        return "", result
    session = sessions.current(ctx, table)
    return (session.runs[-1].task if session is not None and session.runs else result.session_id), result


def delete_all(ctx: Context, actor: Actor, *, force: bool) -> list[str]:
    """Forget the sessions of every table, which are returned; what is visible stays. StateConflict while one runs,
    unless ``force``: then it is given up.
    """
    runs = all_runs(ctx, lambda _: True)
    busy = sorted({run.table for run in runs if run.is_running})
    if busy and not force:
        raise StateConflict(
            f"File ingestion runs for {', '.join(busy)}.", remedy="Wait for its end, or say forceDelete=true."
        )
    done = []
    for typed in sorted({run.table for run in runs}):
        sessions.clear_state(ctx, TableName(typed.removesuffix(f"_{OFFLINE}"), OFFLINE), actor)
        done.append(typed)
    return done


def clean_up(ctx: Context, table: TableName | None, actor: Actor) -> list[str]:
    """Remove the records of sessions that are over and that nobody needs, of this table or of all; returns their ids.
    What is visible stays, and so do the current session and those that can be undone.
    """
    removed: list[str] = []
    for each in [table] if table is not None else tables_with_sessions(ctx):
        with audit.recorded(ctx, actor, "cleanUpTasks", each.typed) as detail:
            detail["sessions"] = found = remove_unneeded(ctx, each)
        removed += found
    return removed


def _with_task(ctx: Context) -> list[TableName]:
    names = [TableName(typed.removesuffix(f"_{OFFLINE}"), OFFLINE) for typed in list_tables(ctx, OFFLINE)]
    return [name for name in names if (config := find_table_config(ctx, name)) and task_map(config) is not None]
