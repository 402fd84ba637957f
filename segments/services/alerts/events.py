"""Findings that were opened or closed become events, and each event a message to every receiver that wants it; once, in
one transaction.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from segments.domain.alerts.rules import Wish, event_of
from segments.models import AlertDelivery, Finding, Webhook
from segments.services.upkeep.snooze import snoozed

OPENED: Final = "opened"
CLOSED: Final = "closed"
#: Findings taken up in one run; the rest is for the next.
_AT_ONCE: Final = 2000


def announce(now: datetime, *, by_mail: Wish | None) -> int:
    """Put a message for every receiver on its way about what was opened or closed since the last run; returns how many
    events there are.

    ``by_mail``: what goes out by mail, None: nothing. A finding that closed before the first message about it is never
    sent. Of one that is snoozed nobody hears before the snooze is over.
    """
    Finding.objects.filter(open_notified=False, closed_at__isnull=False).update(open_notified=True, close_notified=True)
    with transaction.atomic():
        new = Finding.objects.select_for_update().filter(open_notified=False, closed_at=None)
        opened = list(snoozed(new, are=False).order_by("pk")[:_AT_ONCE])
        over = Finding.objects.select_for_update().filter(
            open_notified=True, close_notified=False, closed_at__isnull=False
        )
        closed = list(over.order_by("pk")[:_AT_ONCE])
        events = [*_events(OPENED, opened), *_events(CLOSED, closed)]
        AlertDelivery.objects.bulk_create(_messages(events, by_mail, now), batch_size=200)
        Finding.objects.filter(pk__in=[f.pk for f in opened]).update(open_notified=True)
        Finding.objects.filter(pk__in=[f.pk for f in closed]).update(close_notified=True)
    return len(events)


def wish_of(hook: Webhook) -> Wish:
    """What the receiver subscribed to."""
    return Wish(hook.tables, hook.cluster, "error" if hook.severity == "error" else "warning")


def _events(what: str, findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """One event for what came together: a lost server makes hundreds of findings of one kind."""
    together: dict[tuple[str, str, str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        together[finding.cluster, finding.table_name, finding.code, finding.severity].append(finding)
    return [
        event_of(
            str(uuid.uuid4()), what, [_finding_json(f) for f in some],
            of={"cluster": cluster, "table": table, "kind": code, "severity": severity},
        )
        for (cluster, table, code, severity), some in together.items()
    ]  # fmt: skip


def _finding_json(finding: Finding) -> dict[str, Any]:
    closed = finding.closed_at.isoformat() if finding.closed_at else None
    return {
        "id": finding.pk,
        "subject": finding.subject,
        "message": finding.message,
        "firstSeen": finding.first_seen.isoformat(),
        "closedAt": closed,
    }


def _messages(events: Sequence[dict[str, Any]], by_mail: Wish | None, now: datetime) -> Iterable[AlertDelivery]:
    hooks = [(hook, wish_of(hook)) for hook in Webhook.objects.filter(is_enabled=True)]
    receivers: list[tuple[Webhook | None, Wish]] = [*hooks, *([(None, by_mail)] if by_mail else [])]
    for event in events:
        for hook, wish in receivers:
            if wish.wants(event["cluster"], event["table"], event["severity"]):
                yield AlertDelivery(webhook=hook, event_id=event["id"], event=event, created_at=now, due_at=now)
