"""The two passes of alerts: find out what there is to say, and say it. Both go on while ZooKeeper is down."""

from __future__ import annotations

from typing import Protocol

from django.utils import timezone

from segments.domain.alerts.rules import Wish
from segments.services.alerts import delivery, events, sources


class AlertParts(Protocol):
    """What they need; the wiring has it."""

    def watched(self) -> sources.Watched:
        """Where findings come from."""

    def mail_wish(self) -> Wish | None:
        """Which events go out by mail."""

    def outgoing_alerts(self) -> delivery.Outgoing:
        """What sending takes."""


def find_alerts(parts: AlertParts) -> list[str]:
    """Findings that no other pass makes; messages about all that were opened or closed since the last run."""
    now = timezone.now()
    sources.find(parts.watched(), now)
    count = events.announce(now, by_mail=parts.mail_wish())
    return [f"{count} events are to be sent."] if count else []


def deliver_alerts(parts: AlertParts) -> list[str]:
    """Send webhooks and mail that are due; a sentence for each message that is given up."""
    return delivery.deliver(parts.outgoing_alerts(), timezone.now)
