"""Takes out of the database what nobody needs any more: sessions that have ended, and records older than
they are kept.
"""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from typing import Any, Final

from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.db.models import QuerySet
from django.utils import timezone

from segments.domain.formats.plural import counted
from segments.models import AlertDelivery, AuditEvent, Finding, FindingSnooze, PassRun, Push
from segments.services.replacement.history.causes import note_causes
from segments.services.tables.design.uploads import remove_expired

#: Rows deleted in one statement: SQLite has one writer, and others wait for it.
_AT_ONCE: Final = 1000
#: States of pushes that nothing happens to any more.
OVER: Final = (Push.State.DONE, Push.State.FAILED, Push.State.CANCELLED)


def run() -> list[str]:
    """Delete it, and uploaded input files that nobody needs; a sentence for each kind of which there was something.
    ``HISTORY_DAYS`` 0 keeps all records.
    """
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
    return [*remove_expired(timezone.now().timestamp()), *_old_records()]


def _old_records() -> list[str]:
    if settings.HISTORY_DAYS <= 0:
        return []
    note_causes()
    before = timezone.now() - timedelta(days=settings.HISTORY_DAYS)
    old: dict[str, QuerySet[Any]] = {
        "events of the audit": AuditEvent.objects.filter(at__lt=before),
        "runs of passes": PassRun.objects.filter(finished_at__lt=before),
        "closed findings": Finding.objects.filter(closed_at__lt=before),
        "ended snoozes": FindingSnooze.objects.filter(until__lt=before),
        "messages of alerts": AlertDelivery.objects.filter(created_at__lt=before).exclude(
            state=AlertDelivery.State.WAITING
        ),
        "pushes": Push.objects.filter(state__in=OVER, finished_at__lt=before),
        "entries of the admin's history": LogEntry.objects.filter(action_time__lt=before),
    }
    counts = {what: _delete(rows) for what, rows in old.items()}
    return [
        f"Deleted {what} older than {counted(settings.HISTORY_DAYS, 'day')}: {count:,}."
        for what, count in counts.items()
        if count
    ]


def _delete(rows: QuerySet[Any]) -> int:
    deleted = 0
    while found := list(rows.order_by("pk").values_list("pk", flat=True)[:_AT_ONCE]):
        rows.model._default_manager.filter(pk__in=found).delete()
        deleted += len(found)
    return deleted
