"""/api/v1/webhooks: receivers of alerts. For administrators of the installation; a secret is shown once, when it is
made.
"""

from __future__ import annotations

from typing import Any

import msgspec
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from segments import wiring
from segments.api.base import ApiView
from segments.api.bodies import WebhookBody, read_body
from segments.api.permissions import Right
from segments.models import AlertDelivery, Webhook
from segments.services.access.rights import has_right_everywhere
from segments.services.alerts import delivery, webhooks
from segments.services.alerts.webhooks import WebhookSpec
from segments.services.core.page_addresses import address_of

_LISTED = 200


class _WebhooksView(ApiView):
    """All of it takes ``administer`` for the whole installation: an address may hold a secret, and events concern every
    table.
    """

    def needs(self, request: Request) -> tuple[Right | None, str | None]:
        """The right; that a grant for one cluster is not enough is checked on the way."""
        return ("administer" if has_right_everywhere(request.user, "administer") else None), None


class Webhooks(_WebhooksView):
    """All webhooks; add one."""

    answers = {"GET": {200: "object"}, "POST": {201: "object"}}
    bodies = {"POST": WebhookBody}
    parameters = {"POST": ("reason",)}

    def get(self, request: Request) -> Response:
        """Each with its subscription, without its secret."""
        return Response({"webhooks": [webhook_json(row) for row in webhooks.list_webhooks()]})

    def post(self, request: Request) -> Response:
        """Add one: ``{"name", "url", "tables": "sales_*", "cluster": "*", "severity": "error", "enabled": true,
        "secret"}``.

        201 with ``secret``, which signs what is sent: the one given, or one that is made. It is shown here and never
        again.
        """
        row, secret = webhooks.add_webhook(wiring.webhooks(), _spec(read_body(request, WebhookBody), None), self.actor)
        headers = {"Location": address_of(f"/api/v1/webhooks/{row.pk}"), "Cache-Control": "no-store"}
        return Response({**webhook_json(row), "secret": secret}, status=201, headers=headers)


class OneWebhook(_WebhooksView):
    """One webhook by its id."""

    bodies = {"PUT": WebhookBody}
    parameters = {"PUT": ("reason",), "DELETE": ("reason",)}

    def get(self, request: Request, hook: int) -> Response:
        """As in the list."""
        return Response(webhook_json(webhooks.find_webhook(hook)))

    def put(self, request: Request, hook: int) -> Response:
        """Change it. What the body leaves out stays as it is, the secret too."""
        spec = _spec(read_body(request, WebhookBody), webhooks.find_webhook(hook))
        return Response(webhook_json(webhooks.change_webhook(wiring.webhooks(), hook, spec, self.actor)))

    def delete(self, request: Request, hook: int) -> Response:
        """Remove it; what waits is not sent."""
        webhooks.remove_webhook(wiring.webhooks(), hook, self.actor)
        return Response({"status": f"Webhook {hook} is removed."})


class TestWebhook(_WebhooksView):
    """Try a webhook."""

    parameters = {"POST": ("reason",)}

    def post(self, request: Request, hook: int) -> Response:
        """Send an event that says it is a test, now. 200 also when it was not taken: the answer says why."""
        message = webhooks.prepare_test(hook, self.actor, timezone.now())
        delivery.send_test(message, wiring.outgoing_alerts(), timezone.now)
        return Response(delivery_json(message))


class Deliveries(_WebhooksView):
    """What became of the messages to a webhook."""

    def get(self, request: Request, hook: int) -> Response:
        """The newest 200."""
        row = webhooks.find_webhook(hook)
        return Response({"deliveries": [delivery_json(d) for d in row.deliveries.all()[:_LISTED]]})


def webhook_json(row: Webhook) -> dict[str, Any]:
    """A webhook without its secret."""
    return {
        "id": row.pk,
        "name": row.name,
        "url": row.url,
        "tables": row.tables,
        "cluster": row.cluster,
        "severity": row.severity,
        "enabled": row.is_enabled,
        "secret": "*****",
    }


def delivery_json(message: AlertDelivery) -> dict[str, Any]:
    """One message on its way."""
    times = {"createdAt": message.created_at, "dueAt": message.due_at, "doneAt": message.done_at}
    return {
        "event": message.event,
        "state": message.state,
        "failures": message.failures,
        "status": message.status,
        "error": message.error,
        **{key: at.isoformat() if at else None for key, at in times.items()},
    }


def _spec(body: WebhookBody, row: Webhook | None) -> WebhookSpec:
    """What the body asks for; what it leaves out is as it is, or the default."""
    given = {
        ("is_enabled" if k == "enabled" else k): v for k, v in msgspec.structs.asdict(body).items() if v is not None
    }
    kept = (
        {n: getattr(row, n) for n in ("name", "url", "tables", "cluster", "severity", "is_enabled")}
        if row
        else {"name": "", "url": ""}
    )
    return WebhookSpec(**{**kept, **given})
