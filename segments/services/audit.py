"""Append what was done or refused, by whom and why."""

from __future__ import annotations

from typing import Any

from segments.models import AuditEvent
from segments.services.context import Actor


def record(actor: Actor, action: str, *, cluster: str = "", target: str = "", outcome: str = "done", **detail: Any) -> AuditEvent:
    """Append one event. ``outcome`` is done, refused or failed; ``detail`` must be JSON-ready and hold no secrets."""
    return AuditEvent.objects.create(
        actor=actor.name,
        action=action,
        cluster=cluster,
        target=target,
        outcome=outcome,
        reason=actor.reason,
        address=actor.address,
        detail=detail,
    )
