"""Starts the task of a table: on its schedule, or because somebody asks. A stop holds all of it back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from django.conf import settings

from segments.domain.ingestion.task_config import TASK_TYPE, IngestionTask, parse_ingestion_task
from segments.domain.schedules.cron_times import next_times, time_zone
from segments.domain.schedules.quartz import parse_cron
from segments.errors import PinotAdminError, StateConflict, Unavailable
from segments.names import TableName
from segments.services.core import audit
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


def start_now(
    ctx: Context, table: TableName, actor: Actor, *, forced: bool = False, override_stop: str = ""
) -> TriggerResult:
    """Begin a session, or the next run of the open one. StateConflict while the table's task is stopped, unless
    ``override_stop`` is the reason for which it starts anyway; else as ``sessions.trigger``. What came of it is
    on record.
    """
    _pass_stop(ctx, table, actor, override_stop)
    return _noted(ctx, table, lambda: sessions.trigger(ctx, table, actor, forced=forced))


def retry_now(ctx: Context, table: TableName, actor: Actor, *, override_stop: str = "") -> TriggerResult:
    """The next run of the open session. StateConflict as ``start_now``; else as ``sessions.retry_now``."""
    _pass_stop(ctx, table, actor, override_stop)
    return _noted(ctx, table, lambda: sessions.retry_now(ctx, table, actor))


def stopped_sentence(ctx: Context, table: TableName) -> str:
    """Who stopped the table's task, and why; empty when it is not stopped."""
    found = stop_of(ctx, table)
    if found is None:
        return ""
    name, stop = found
    what = f"The file ingestion of table '{table}'" if name == table.typed else "The file ingestion of all tables"
    return f"{what} was stopped by {stop.actor}{f' ({stop.reason})' if stop.reason else ''}."


def _pass_stop(ctx: Context, table: TableName, actor: Actor, override: str) -> None:
    """Nothing where no stop stands. One that is overridden is on record; raises StateConflict for one that is not."""
    found = stop_of(ctx, table)
    if found is None:
        return
    name, stop = found
    if not override.strip():
        path = TASK_TYPE if name == TASK_TYPE else f"{TASK_TYPE}/{name}"
        raise StateConflict(
            stopped_sentence(ctx, table),
            remedy=f"Resume it with PUT /tasks/{path}/resume, or give the reason why this run starts anyway "
            "(overrideStop).",
        )
    audit.record(
        Actor(actor.name, override, actor.address), "overrideTaskStop", cluster=ctx.cluster, target=table.typed,
        stopOf=name, stoppedBy=stop.actor, stopReason=stop.reason,
    )  # fmt: skip


def _noted(ctx: Context, table: TableName, start: Callable[[], TriggerResult]) -> TriggerResult:
    try:
        result = start()
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
