"""/api/v1/audit: the audit trail."""

from __future__ import annotations

from typing import Any, Final

from django.db.models import Q, QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, int_param, text_param
from segments.errors import InvalidInput
from segments.models import AuditEvent
from segments.services.access.read_rights import readable_events

_MOST: Final = 1000
#: Characters of a page beyond which it ends early, and events that are read from the database in one go.
_MOST_CHARACTERS: Final = 8 << 20
_AT_ONCE: Final = 50


class AuditTrail(ApiView):
    """Who did, or was refused, what, when and why."""

    reading = "filtered"
    parameters = {"GET": ("cluster", "target", "actor", "action", "outcome", "request", "before", "limit")}

    def get(self, request: Request) -> Response:
        """Newest first; ``before`` is the id to go on from (``next``). Of all clusters, unless the address or a
        parameter names one.
        """
        limit = int_param(request, "limit") or 100
        if not 1 <= limit <= _MOST:
            raise InvalidInput(f"'limit' must be 1 to {_MOST}.")
        events = readable_events(AuditEvent.objects.order_by("-id"), request.user)
        filters = {
            k: v for k in ("cluster", "target", "action", "outcome") if (v := text_param(request, k)) is not None
        }
        if (made_in := text_param(request, "request")) is not None:
            filters["request_id"] = made_in
        if self.cluster is not None:
            filters["cluster"] = self.ctx.cluster
        if (actor := text_param(request, "actor")) is not None:
            events = events.filter(Q(actor=actor) | Q(actor__startswith=f"{actor} (token "))
        before = int_param(request, "before")
        events = events.filter(**filters, **({"id__lt": before} if before is not None else {}))
        shown, has_more = _page(events, limit)
        return Response({"events": [_json(e) for e in shown], "next": shown[-1].pk if has_more else None})


def _page(events: QuerySet[AuditEvent], limit: int) -> tuple[list[AuditEvent], bool]:
    """At most ``limit`` events, fewer where they are long, and whether there are more."""
    shown: list[AuditEvent] = []
    size = 0
    for event in events[: limit + 1].iterator(chunk_size=_AT_ONCE):
        if len(shown) == limit or (shown and size > _MOST_CHARACTERS):
            return shown, True
        shown.append(event)
        size += len(str(event.detail))
    return shown, False


def _json(event: AuditEvent) -> dict[str, Any]:
    return {
        "id": event.pk,
        "at": event.at.isoformat(),
        "actor": event.actor,
        "action": event.action,
        "cluster": event.cluster,
        "target": event.target,
        "outcome": event.outcome,
        "reason": event.reason,
        "address": event.address,
        "detail": event.detail,
        "request": event.request_id,
    }
