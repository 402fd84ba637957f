"""The periodic tasks' default schedules, as rows that operators may edit afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from django_celery_beat.models import IntervalSchedule, PeriodicTask

from segments.services.jobs.queue import PREFIX

if TYPE_CHECKING:
    from segments.services.upkeep.pass_declaration import Periodic

#: The title of the retention pass's schedule.
RETENTION: Final = "Retention"


def ensure_schedules(declared: Iterable[Periodic]) -> None:
    """Create missing rows; rows that exist keep what an operator made of them."""
    for one in declared:
        every = one.every
        if PeriodicTask.objects.filter(name=every.title).exists():
            continue
        interval, _ = IntervalSchedule.objects.get_or_create(every=every.number, period=every.unit)
        #: A run that could not start within its own period is stale: the next one does its work.
        PeriodicTask.objects.create(
            name=every.title, task=f"{PREFIX}{one.task}", interval=interval, description=one.does,
            expire_seconds=max(every.number, 10),
        )  # fmt: skip


def next_run_ms(name: str) -> int | None:
    """When the schedule of that name is due next (epoch ms); None: it is off, gone, not an interval, or
    has never run.
    """
    row = PeriodicTask.objects.filter(name=name, enabled=True).select_related("interval").first()
    if row is None or row.interval is None or row.last_run_at is None:
        return None
    return int((row.last_run_at + row.interval.schedule.run_every).timestamp() * 1000)
