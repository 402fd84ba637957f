"""Rows of django-celery-beat for the schedules of tables: one for each, which begins to fire at the next due moment.

A row fires every ten seconds from its ``start_time`` on, until what was due has been taken up; then that is the next
due moment. So a start that was missed, because beat, workers or ZooKeeper were down, is made up for once, and beats
that fire the same moment do no harm: whoever takes it up first does it (``schedule_records.take_up``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from django.utils import timezone
from django_celery_beat.models import IntervalSchedule, PeriodicTask, PeriodicTasks

from segments.domain.ingestion.task_config import TASK_TYPE, IngestionTask, parse_ingestion_task
from segments.domain.schedules.cron_words import plain_words
from segments.domain.schedules.quartz import parse_cron
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput
from segments.models import Table
from segments.names import TABLE_TYPES, TableName
from segments.services.core.context import Context
from segments.services.jobs.queue import FIRE_SCHEDULE
from segments.services.schedules.task_start import next_run, zone_of
from segments.services.tables.table_record import find_table_config

#: Seconds between attempts of a start that is due; a message that no worker began by then is dropped.
_AGAIN_S: Final = 10
_LONGEST_NAME: Final = 200


@dataclass(frozen=True)
class _Wanted:
    """A row as a table's config asks for it."""

    cluster: str
    table: str
    task: IngestionTask

    @property
    def name(self) -> str:
        plain = f"File ingestion of {self.table} on {self.cluster}"
        digest = hashlib.sha256(plain.encode()).hexdigest()[:12]
        return plain if len(plain) <= _LONGEST_NAME else f"{plain[: _LONGEST_NAME - 15]}... {digest}"

    @property
    def description(self) -> str:
        """Says what the row is for, and whether it is still that."""
        expression = self.task.schedule or ""
        return f"{_words(expression)} ({zone_of(self.task)}): {expression}"


@dataclass(frozen=True)
class Job:
    """A schedule as its row has it. ``next_ms``: when it fires next, None while an operator has it disabled;
    ``started``: how often beat has fired it.
    """

    table: str
    words: str
    zone: str
    expression: str
    next_ms: int | None
    started: int


def jobs(cluster: str) -> list[Job]:
    """The schedules of a cluster's tables, by table."""
    rows = [row for row in PeriodicTask.objects.filter(task=FIRE_SCHEDULE) if _key(row)[0] == cluster]
    return sorted(map(_job, rows), key=lambda job: job.table)


def _job(row: PeriodicTask) -> Job:
    words, _, rest = row.description.rpartition(" (")
    zone, _, expression = rest.partition("): ")
    is_due = row.enabled and row.start_time is not None
    return Job(_key(row)[1], words, zone, expression, _ms(row.start_time) if is_due else None, row.total_run_count)


def keep_in_step(now: datetime | None = None) -> list[str]:
    """Make the rows what the table configs say, as the mirror knows them; a sentence about each change.

    A row that an operator disabled stays disabled. A due moment that nobody has taken up yet stays due.
    """
    now = now or timezone.now()
    rows = {_key(row): row for row in PeriodicTask.objects.filter(task=FIRE_SCHEDULE)}
    done: list[str] = []
    for wanted in _wanted():
        row = rows.pop((wanted.cluster, wanted.table), None)
        if row is not None and row.description == wanted.description:
            continue
        due = next_run(wanted.task, now)
        if due is None:
            if row is not None:
                rows[_key(row)] = row
            continue
        _save(wanted, due, row)
        done.append(f"{wanted.name}: {wanted.description}, next at {due:%Y-%m-%d %H:%M:%S} UTC.")
    for row in rows.values():
        row.delete()
        done.append(f"{row.name}: it has no schedule any more.")
    return done


def go_on(ctx: Context, table: TableName, due_ms: int) -> None:
    """What was due at this moment is done: let the row fire at the next one. Nothing when it is another row by now."""
    for row in PeriodicTask.objects.filter(task=FIRE_SCHEDULE, kwargs=_kwargs(ctx.cluster, table.typed, due_ms)):
        config = find_table_config(ctx, table)
        task = _task_of(config) if config is not None else None
        due = next_run(task, timezone.now()) if task is not None else None
        if due is None:
            row.delete()  # and the pass makes no new one
            continue
        changes = {"start_time": due, "kwargs": _kwargs(ctx.cluster, table.typed, _ms(due))}
        if PeriodicTask.objects.filter(pk=row.pk, kwargs=row.kwargs).update(**changes):
            PeriodicTasks.update_changed()


def _save(wanted: _Wanted, due: datetime, row: PeriodicTask | None) -> None:
    fields: dict[str, Any] = {
        "kwargs": _kwargs(wanted.cluster, wanted.table, _ms(due)),
        "start_time": due,
        "description": wanted.description,
        "expire_seconds": _AGAIN_S,
        "interval": IntervalSchedule.objects.get_or_create(every=_AGAIN_S, period=IntervalSchedule.SECONDS)[0],
    }
    if row is None:
        PeriodicTask.objects.update_or_create(name=wanted.name, defaults={**fields, "task": FIRE_SCHEDULE})
        return
    for key, value in fields.items():
        setattr(row, key, value)
    row.save()


@lru_cache(maxsize=4096)
def _words(expression: str) -> str:
    return plain_words(parse_cron(expression))


def _wanted() -> Iterator[_Wanted]:
    rows = Table.objects.filter(**{f"config__task__taskTypeConfigsMap__{TASK_TYPE}__isnull": False})
    for cluster, raw, kind, config in rows.order_by("name").values_list("cluster__name", "raw_name", "type", "config"):
        if kind in TABLE_TYPES:
            name = TableName(raw, kind)
            task = _task_of(TableConfig(name, config))
            if task is not None and task.schedule is not None:
                yield _Wanted(cluster, name.typed, task)


def _task_of(config: TableConfig) -> IngestionTask | None:
    """None also for one that cannot run; saving it was refused, or came from outside."""
    try:
        return parse_ingestion_task(config)
    except InvalidInput:
        return None


def _key(row: PeriodicTask) -> tuple[str, str]:
    found: Mapping[str, Any] = json.loads(row.kwargs or "{}")
    return str(found.get("cluster", "")), str(found.get("table", ""))


def _kwargs(cluster: str, typed: str, due_ms: int) -> str:
    return json.dumps({"cluster": cluster, "table": typed, "due_ms": due_ms})


def iso(ms: int) -> str:
    """A moment as Pinot's generators write it."""
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%dT%H:%M:%S}Z"


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
