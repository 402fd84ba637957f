"""Records of schedules in ZooKeeper: a due moment is taken up once, whoever fires it; stops hold for all processes."""

from __future__ import annotations

from typing import Final

from segments.domain.ingestion.task_config import TASK_TYPE
from segments.domain.schedules.schedule_record import ScheduleRecord, Stop, record_from_json
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.store import paths
from segments.store.records.document import Documents

_RECORDS: Final = Documents(
    "schedule", "The record of schedule '{}'", lambda r: r.name, ScheduleRecord.to_json, record_from_json
)


def read_schedule(ctx: Context, name: str) -> ScheduleRecord:
    """The record of a typed table or of a type of task; an empty one when there is none."""
    return _RECORDS.read(ctx.store, paths.task_schedule(name)) or ScheduleRecord(name)


def take_up(ctx: Context, table: TableName, due_ms: int) -> bool:
    """Take a due moment up: True for exactly one of all who try."""
    won: list[bool] = []

    def decide(before: ScheduleRecord | None) -> ScheduleRecord | None:
        after = (before or ScheduleRecord(table.typed)).taken(due_ms)
        won[:] = [after is not None]
        return after

    _RECORDS.change(ctx.store, paths.task_schedule(table.typed), decide)
    return won[0]


def give_back(ctx: Context, table: TableName, due_ms: int) -> None:
    """Let somebody else take this moment up: nothing came of it."""
    _RECORDS.change(
        ctx.store,
        paths.task_schedule(table.typed),
        lambda before: before.given_back(due_ms) if before is not None else None,
    )


def note_start(ctx: Context, table: TableName, error: str = "") -> None:
    """Put a start of the table's task on record; ``error`` is why nothing began."""
    now = ctx.clock()
    _RECORDS.change(
        ctx.store,
        paths.task_schedule(table.typed),
        lambda before: (before or ScheduleRecord(table.typed)).noted(now, error),
    )


def stop_of(ctx: Context, table: TableName) -> tuple[str, Stop] | None:
    """What keeps the table's task from starting: a stop of the table, or one of all tasks of its type, with the name
    that it was given for.
    """
    for name in (table.typed, TASK_TYPE):
        stop = read_schedule(ctx, name).stop
        if stop is not None:
            return name, stop
    return None


def set_stopped(ctx: Context, name: str, *, is_stopped: bool, actor: Actor) -> None:
    """Stop or resume the task of a table (typed name), or all tasks of a type; one audit record."""
    stop = Stop(actor.name, actor.reason, ctx.clock()) if is_stopped else None

    def decide(before: ScheduleRecord | None) -> ScheduleRecord | None:
        known = before or ScheduleRecord(name)
        return None if (known.stop is None) == (stop is None) else _with(known, stop)

    with audit.recorded(ctx, actor, "stopTaskQueue" if is_stopped else "resumeTaskQueue", name):
        _RECORDS.change(ctx.store, paths.task_schedule(name), decide)


def _with(record: ScheduleRecord, stop: Stop | None) -> ScheduleRecord:
    return ScheduleRecord(record.name, record.taken_ms, stop, record.started, record.failed)
