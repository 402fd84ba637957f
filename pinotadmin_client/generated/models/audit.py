"""Models of audit.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field


class AuditEvent(Struct, frozen=True, kw_only=True):
    """Who did, or was refused, what, when and why. What one request did has the same ``request``."""

    id: int
    at: str
    actor: str
    action: str
    cluster: str
    target: str
    outcome: str
    reason: str
    address: str | None
    detail: dict[str, Any]
    request: str = field(default="")


class AuditEvents(Struct, frozen=True, kw_only=True):
    """Newest first; ``next`` is the id to go on from (parameter ``before``), null at the end."""

    events: list[AuditEvent]
    next: int | None
