"""When a table's file ingestion runs next, in plain words and as times."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.conf import settings

from segments.domain.ingestion.task_config import IngestionTask
from segments.domain.schedules.cron_times import next_times, time_zone
from segments.domain.schedules.cron_words import plain_words
from segments.domain.schedules.quartz import parse_cron

_SHOWN: Final = 5


@dataclass(frozen=True)
class NextRuns:
    """``words``: the schedule in plain words; ``zone``: where it counts; ``times``: the next ones, in UTC."""

    words: str
    cron: str
    zone: str
    times: tuple[datetime, ...]

    @property
    def has_seconds(self) -> bool:
        """Does any of them not begin with a minute?"""
        return any(at.second for at in self.times)


def next_runs(task: IngestionTask, now: datetime) -> NextRuns | None:
    """None without a schedule."""
    if task.schedule is None:
        return None
    cron, zone = parse_cron(task.schedule), task.schedule_zone or settings.SCHEDULE_TIME_ZONE
    return NextRuns(plain_words(cron), cron.text, zone, tuple(next_times(cron, now, time_zone(zone), _SHOWN)))
