"""Starts the task of a table: on its schedule, or because somebody asks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from django.conf import settings

from segments.domain.ingestion.task_config import IngestionTask, parse_ingestion_task
from segments.domain.schedules.cron_times import next_times, time_zone
from segments.domain.schedules.quartz import parse_cron
from segments.errors import PinotAdminError, StateConflict, Unavailable
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.ingestion import sessions
from segments.services.ingestion.sessions import TriggerResult
from segments.services.schedules.schedule_records import give_back, note_start, stop_of, take_up
from segments.services.tables.table_record import find_table_config

#: Who a scheduled start is by, in sessions and in the audit.
SCHEDULE: Final = "schedule"


def next_run(task: IngestionTask, after: datetime) -> datetime | None:
    """When the task is due next, in UTC; None: it has no schedule, or one that fires no more."""
    if task.schedule is None:
        return None
    zone = time_zone(zone_of(task))
    return next(iter(next_times(parse_cron(task.schedule), after, zone)), None)


def zone_of(task: IngestionTask) -> str:
    """The time zone in which its schedule counts."""
    return task.schedule_zone or str(settings.SCHEDULE_TIME_ZONE)


def start_now(ctx: Context, table: TableName, actor: Actor, *, forced: bool = False) -> TriggerResult:
    """Begin a session, or the next run of the open one. StateConflict while the table's task is stopped; else as
    ``sessions.trigger``. What came of it is on record.
    """
    stop = stop_of(ctx, table)
    if stop is not None:
        why = f" ({stop.reason})" if stop.reason else ""
        raise StateConflict(
            f"The file ingestion of table '{table}' was stopped by {stop.actor}{why}.", remedy="Resume it first."
        )
    try:
        result = sessions.trigger(ctx, table, actor, forced=forced)
    except PinotAdminError as error:
        note_start(ctx, table, str(error))
        raise
    note_start(ctx, table)
    return result


def fire(ctx: Context, table: TableName, due_ms: int) -> str:
    """Start what was due at this moment, unless somebody else did, or the table's config says otherwise by now; a
    sentence about what came of it. Unavailable: nothing was started, and it may be fired again.
    """
    config = find_table_config(ctx, table)
    task = parse_ingestion_task(config) if config is not None else None
    due = datetime.fromtimestamp(due_ms / 1000, UTC)
    if task is None or next_run(task, due - timedelta(seconds=1)) != due:
        return f"The schedule of {table} has changed: nothing was due at {due:%Y-%m-%d %H:%M:%S} UTC."
    if not take_up(ctx, table, due_ms):
        return f"What was due for {table} at {due:%Y-%m-%d %H:%M:%S} UTC was started before."
    try:
        result = start_now(ctx, table, Actor(SCHEDULE, task.schedule or ""))
    except Unavailable:
        give_back(ctx, table, due_ms)
        raise
    except PinotAdminError as error:
        return f"File ingestion of {table} did not begin: {error}"
    if result.session_id is None:
        return f"File ingestion of {table}: {result.why}"
    return f"File ingestion of {table}: session {result.session_id} was started."
