"""Run a schedule's task once, now, besides its schedule."""

from __future__ import annotations

import json

from django_celery_beat.models import PeriodicTask

from segments.errors import StateConflict
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.jobs.queue import FIRE_SCHEDULE


def why_not_now(row: PeriodicTask) -> str:
    """Why this schedule cannot be run besides its time; empty: it can."""
    if row.task != FIRE_SCHEDULE:
        return ""
    return "A table's file ingestion is triggered on the table's own page, File ingestion."


def run_now(ctx: Context, row: PeriodicTask, actor: Actor) -> None:
    """Hand it to the workers, on record. StateConflict for what is run elsewhere, Unavailable while the queue is
    down.
    """
    with audit.recorded(ctx, actor, "runSchedule", row.name):
        if why := why_not_now(row):
            raise StateConflict(why)
        ctx.queue.send(row.task, *json.loads(row.args), named=json.loads(row.kwargs))
