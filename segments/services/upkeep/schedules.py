"""The periodic tasks' default schedules, as rows that operators may edit afterwards."""

from __future__ import annotations

from typing import Final

from django_celery_beat.models import IntervalSchedule, PeriodicTask

#: The schedule of the retention pass.
RETENTION: Final = "Retention"
#: name -> (task, every, unit, description). Pinot's period for retention; short ones where somebody waits.
DEFAULTS: Final = {
    RETENTION: (
        "segments.tasks.run_retention",
        6,
        IntervalSchedule.HOURS,
        "Lineage clean-up, time retention, files of deleted segments",
    ),
    "Validation": ("segments.tasks.run_validation", 5, IntervalSchedule.MINUTES, "Finds what is not as it should be"),
    "Realtime validation": (
        "segments.tasks.run_realtime_validation",
        1,
        IntervalSchedule.MINUTES,
        "Repairs consumption",
    ),
    "Copies in the deep store": (
        "segments.tasks.copy_to_deep_store",
        1,
        IntervalSchedule.MINUTES,
        "Copies segments that only servers have",
    ),
    "Consumption": (
        "segments.tasks.keep_consumption",
        3,
        IntervalSchedule.SECONDS,
        "Sees pauses and force commits through",
    ),
    "Lag": (
        "segments.tasks.sample_lag",
        1,
        IntervalSchedule.MINUTES,
        "Notes how far each partition is behind its stream",
    ),
    "Deletions": (
        "segments.tasks.drain_deletions",
        3,
        IntervalSchedule.SECONDS,
        "Finishes deletions once no server holds the segment",
    ),
    "Lost pushes": (
        "segments.tasks.resume_lost_pushes",
        10,
        IntervalSchedule.SECONDS,
        "Resumes or reverts pushes whose worker died",
    ),
    "Abandoned replacements": (
        "segments.tasks.reap_entries",
        5,
        IntervalSchedule.SECONDS,
        "Reverts replacements whose client went silent",
    ),
    "Housekeeping": (
        "segments.tasks.keep_house",
        1,
        IntervalSchedule.HOURS,
        "Deletes ended sessions and records older than they are kept",
    ),
    "Alerts": (
        "segments.tasks.find_alerts",
        10,
        IntervalSchedule.SECONDS,
        "Makes messages of findings that opened or closed",
    ),
    "Delivery of alerts": (
        "segments.tasks.deliver_alerts",
        5,
        IntervalSchedule.SECONDS,
        "Sends webhooks and mail that are due",
    ),
    "Ends in the background": (
        "segments.tasks.advance_ends",
        2,
        IntervalSchedule.SECONDS,
        "Switches once all replicas are online",
    ),
}


def ensure_schedules() -> None:
    """Create missing rows; rows that exist keep what an operator made of them."""
    for name, (task, every, unit, description) in DEFAULTS.items():
        if PeriodicTask.objects.filter(name=name).exists():
            continue
        interval, _ = IntervalSchedule.objects.get_or_create(every=every, period=unit)
        #: A run that could not start within its own period is stale: the next one does its work.
        PeriodicTask.objects.create(
            name=name, task=task, interval=interval, description=description, expire_seconds=max(every, 10)
        )


def next_run_ms(name: str) -> int | None:
    """When the schedule of that name is due next (epoch ms); None: it is off, gone, not an interval, or
    has never run.
    """
    row = PeriodicTask.objects.filter(name=name, enabled=True).select_related("interval").first()
    if row is None or row.interval is None or row.last_run_at is None:
        return None
    return int((row.last_run_at + row.interval.schedule.run_every).timestamp() * 1000)
