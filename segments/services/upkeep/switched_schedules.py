"""Switch schedules on or off, on record."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django_celery_beat.models import PeriodicTask, PeriodicTasks

from segments.services.core import audit
from segments.services.core.context import Actor


def switch_schedules(rows: Sequence[PeriodicTask], actor: Actor, *, is_on: bool) -> list[str]:
    """Switch those that are not so yet, all of them or none; their names. One audit record each."""
    changed = [row for row in rows if row.enabled != is_on]
    with transaction.atomic():
        # One that was off begins a new round when it is switched on, instead of making up for what it left out.
        values = {"enabled": True} if is_on else {"enabled": False, "last_run_at": None}
        PeriodicTask.objects.filter(pk__in=[row.pk for row in changed]).update(**values)
        PeriodicTasks.update_changed()
        for row in changed:
            audit.record(actor, "enableSchedule" if is_on else "disableSchedule", target=row.name)
    return [row.name for row in changed]
