"""A schedule's row as a person reads it: how often it runs, when next, and what came of the last run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final

from django_celery_beat.models import PeriodicTask

from segments.domain.formats.plural import counted
from segments.domain.schedules.cron_times import next_times, time_zone
from segments.domain.schedules.quartz import parse_cron
from segments.models import PassRun
from segments.services.jobs.queue import FIRE_SCHEDULE, PREFIX
from segments.services.upkeep.pass_declaration import TablePass
from segments.services.upkeep.periodic_passes import DECLARED

#: Days ahead in which a run is sought: a schedule that fires on 29 February only is found.
_FARTHEST_DAYS: Final = 4 * 366


def how_often(row: PeriodicTask) -> str:
    """``every 5 minutes``, or a calendar in words."""
    if row.task == FIRE_SCHEDULE:
        return str(row.description.rpartition(": ")[0])
    if row.interval is not None:
        unit = row.interval.period.removesuffix("s")
        return f"every {unit}" if row.interval.every == 1 else f"every {counted(row.interval.every, unit)}"
    return str(row.crontab.human_readable) if row.crontab is not None else "once, or by another calendar"


def next_runs(row: PeriodicTask, now: datetime, count: int = 5) -> list[datetime]:
    """When it runs next, in UTC; nothing while it is off."""
    if not row.enabled:
        return []
    if row.task == FIRE_SCHEDULE:
        return _of_table(row, now, count)
    if row.interval is not None:
        return list(islice(_by_interval(row, now), count))
    return list(islice(_by_calendar(row.crontab.schedule, now), count)) if row.crontab is not None else []


def last_result(row: PeriodicTask) -> str:
    """What the last run came to, where the pass keeps records of its runs; else when it was started."""
    one = next((p.scope for p in DECLARED if f"{PREFIX}{p.task}" == row.task), None)
    if isinstance(one, TablePass):
        run = PassRun.objects.filter(task=one.shown or one.name).first()
        if run is not None:
            came = "done" if run.succeeded else "failed"
            words = " ".join(run.sentences[:2]) or "nothing to do"
            return f"{came} for {run.table_name} at {run.finished_at:%Y-%m-%d %H:%M:%S} UTC: {words}"
    return f"started at {row.last_run_at:%Y-%m-%d %H:%M:%S} UTC" if row.last_run_at else "not run yet"


def _by_interval(row: PeriodicTask, now: datetime) -> Iterator[datetime]:
    every: timedelta = row.interval.schedule.run_every
    due = max((row.last_run_at or now) + every, now)
    while True:
        yield due.astimezone(UTC)
        due += every


def _by_calendar(calendar: Any, now: datetime) -> Iterator[datetime]:
    """``calendar`` has sets of the minutes, hours, days and months that it names, and its time zone."""
    local = now.astimezone(calendar.tz)
    for day in (local.date() + timedelta(days=n) for n in range(_FARTHEST_DAYS)):
        is_named = day.month in calendar.month_of_year and day.day in calendar.day_of_month
        if not is_named or day.isoweekday() % 7 not in calendar.day_of_week:
            continue
        for hour in sorted(calendar.hour):
            for minute in sorted(calendar.minute):
                due = datetime(day.year, day.month, day.day, hour, minute, tzinfo=calendar.tz)
                if due > local:
                    yield due.astimezone(UTC)


def _of_table(row: PeriodicTask, now: datetime, count: int) -> list[datetime]:
    """Of a table's own schedule, whose row has the expression in its description."""
    words, _, expression = row.description.rpartition(": ")
    zone = words.rpartition(" (")[2].rstrip(")")
    return next_times(parse_cron(expression), now, time_zone(zone), count)
