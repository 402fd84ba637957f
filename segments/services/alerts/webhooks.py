"""Webhooks as administrators handle them: add, change, remove, test. The secret is made here, shown once, and kept in a
private file.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from django.db import IntegrityError, transaction

from segments.domain.access.outgoing import Rules
from segments.domain.alerts.rules import check_wish, event_of
from segments.errors import InvalidInput, NotFound, StateConflict, TooManyRequests
from segments.gateways.outgoing.gated_http import check_url
from segments.models import AlertDelivery, Webhook
from segments.processes.machine.private_file import changing_json, read_json
from segments.services.core import audit
from segments.services.core.context import Actor

FILE: Final = "webhooks.json"
_MOST: Final = 50
_TESTED: Final = timedelta(minutes=5)
_LONGEST_NAME: Final = 60
_SHORTEST_SECRET: Final = 16


@dataclass(frozen=True)
class WebhookSpec:
    """What an administrator gives. ``secret`` empty: the one that is there, or a new one that is made."""

    name: str
    url: str
    tables: str = "*"
    cluster: str = "*"
    severity: str = "warning"
    is_enabled: bool = True
    secret: str = ""


@dataclass(frozen=True)
class Kept:
    """Where the secrets are, and which addresses may be called."""

    data_dir: Path
    rules: Rules


def list_webhooks() -> list[Webhook]:
    """All, by name."""
    return list(Webhook.objects.all())


def find_webhook(hook_id: int) -> Webhook:
    """NotFound names the id."""
    row = Webhook.objects.filter(pk=hook_id).first()
    if row is None:
        raise NotFound(f"Webhook {hook_id} does not exist.", remedy="List them with GET /api/v1/webhooks.")
    return row


def add_webhook(kept: Kept, spec: WebhookSpec, actor: Actor) -> tuple[Webhook, str]:
    """The webhook and its secret, which nobody is shown again. InvalidInput; StateConflict when the name is taken;
    TooManyRequests.
    """
    _check(kept, spec)
    if Webhook.objects.count() >= _MOST:
        raise TooManyRequests(f"There are {_MOST} webhooks already.", remedy="Remove one that is not needed.")
    secret = spec.secret or secrets.token_urlsafe(32)
    try:
        with transaction.atomic():
            row = Webhook.objects.create(**_values(spec))
            _keep_secret(kept, row.pk, secret)
    except IntegrityError as error:
        raise StateConflict(
            f"There is a webhook '{spec.name}' already.", remedy="Choose another name.", field="name"
        ) from error
    audit.record(actor, "addWebhook", target=row.name, after=_shown(row))
    return row, secret


def change_webhook(kept: Kept, hook_id: int, spec: WebhookSpec, actor: Actor) -> Webhook:
    """Change it; an empty secret leaves the one that is there. NotFound, InvalidInput, StateConflict."""
    row = find_webhook(hook_id)
    before = _shown(row)
    _check(kept, spec)
    for name, value in _values(spec).items():
        setattr(row, name, value)
    try:
        with transaction.atomic():
            row.save()
            if spec.secret:
                _keep_secret(kept, row.pk, spec.secret)
    except IntegrityError as error:
        raise StateConflict(
            f"There is a webhook '{spec.name}' already.", remedy="Choose another name.", field="name"
        ) from error
    audit.record(
        actor, "changeWebhook", target=row.name, before=before, after=_shown(row), secretChanged=bool(spec.secret)
    )
    return row


def remove_webhook(kept: Kept, hook_id: int, actor: Actor) -> None:
    """Remove it with its messages; what waits is not sent. NotFound."""
    row = find_webhook(hook_id)
    before = _shown(row)
    row.delete()
    with changing_json(kept.data_dir / FILE) as known:
        known.pop(str(hook_id), None)
    audit.record(actor, "removeWebhook", target=row.name, before=before)


def prepare_test(hook_id: int, actor: Actor, now: datetime) -> AlertDelivery:
    """A message that says it is a test, ready to be sent. NotFound."""
    row, event_id = find_webhook(hook_id), str(uuid.uuid4())
    of = {"cluster": row.cluster, "table": "", "kind": "test", "severity": "warning"}
    event = {
        **event_of(event_id, "test", [], of=of),
        "message": f"A test of the webhook {row.name}, requested by {actor.name}.",
    }
    audit.record(actor, "testWebhook", target=row.name, event=event_id)
    # Not for the schedule: who asked waits for it.
    return AlertDelivery.objects.create(
        webhook=row, event_id=event_id, event=event, created_at=now, due_at=now + _TESTED
    )


def prepare_mail_test(to: Sequence[str], actor: Actor, now: datetime) -> AlertDelivery:
    """A mail that says it is a test, ready to be sent. InvalidInput: nobody gets mail."""
    if not to:
        raise InvalidInput("Mail is off.", remedy="Set PINOTADMIN_ALERT_MAIL_TO to the receivers' addresses.")
    event_id = str(uuid.uuid4())
    of = {"cluster": "", "table": "", "kind": "test", "severity": "warning"}
    event = {**event_of(event_id, "test", [], of=of), "message": f"A test of mail, requested by {actor.name}."}
    audit.record(actor, "testMail", target=", ".join(to)[:600], event=event_id)
    return AlertDelivery.objects.create(event_id=event_id, event=event, created_at=now, due_at=now + _TESTED)


def secret_of(data_dir: Path, hook_id: int) -> str:
    """The secret. InvalidInput when it is not in the file any more."""
    secret = str(read_json(data_dir / FILE).get(str(hook_id), ""))
    if not secret:
        raise InvalidInput(
            f"The secret of webhook {hook_id} is not in {FILE} of the data directory.", remedy="Give it a new one."
        )
    return secret


def _check(kept: Kept, spec: WebhookSpec) -> None:
    if not spec.name or len(spec.name) > _LONGEST_NAME or not spec.name.isprintable():
        raise InvalidInput(
            f"A name has 1 to {_LONGEST_NAME} printable characters.", remedy="Give another name.", field="name"
        )
    check_wish(spec.tables, spec.cluster, spec.severity)
    if spec.secret and (len(spec.secret) < _SHORTEST_SECRET or len(spec.secret) > 500):
        text = f"A secret has {_SHORTEST_SECRET} to 500 characters."
        raise InvalidInput(text, remedy="Leave it out: a good one is made.", field="secret")
    try:
        check_url(spec.url, kept.rules)
    except InvalidInput as error:
        raise InvalidInput(error.message, remedy=error.remedy, field="url") from error


def _values(spec: WebhookSpec) -> dict[str, object]:
    return {
        "name": spec.name, "url": spec.url, "tables": spec.tables, "cluster": spec.cluster, "severity": spec.severity,
        "is_enabled": spec.is_enabled,
    }  # fmt: skip


def _keep_secret(kept: Kept, hook_id: int, secret: str) -> None:
    with changing_json(kept.data_dir / FILE) as known:
        known[str(hook_id)] = secret


def _shown(row: Webhook) -> dict[str, object]:
    """For the audit, which everybody reads: paths of some receivers are their secret."""
    return {
        "url": shown_url(row.url),
        "tables": row.tables,
        "cluster": row.cluster,
        "severity": row.severity,
        "enabled": row.is_enabled,
    }


def shown_url(url: str) -> str:
    """Scheme and host."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].partition('?')[0]}/…"
