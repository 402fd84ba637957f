"""Sends what is due and writes down what became of it. A receiver that fails gets no other message before that one is
due again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.core.mail import EmailMessage
from django.db.models import Q

from segments.domain.access.outgoing import Rules
from segments.domain.alerts.rules import SIGNATURE, next_try_s, sign
from segments.domain.formats.storable_text import without_nul
from segments.errors import PinotAdminError
from segments.gateways.outgoing.gated_http import gated_post
from segments.gateways.timer import TIMER, Timer
from segments.models import AlertDelivery
from segments.secret_texts import mask_text

#: Seconds for one message, and after which a run begins no further one.
_SEND_S: Final = 10.0
_RUN_S: Final = 45.0
_AT_ONCE: Final = 500


@dataclass(frozen=True)
class Outgoing:
    """What sending takes: which addresses may be called, the secret of a webhook by its id (empty: none), who gets
    mail.
    """

    rules: Rules
    secret_of: Callable[[int], str]
    mail_to: tuple[str, ...] = ()


def deliver(outgoing: Outgoing, clock: Callable[[], datetime], timer: Timer = TIMER) -> list[str]:
    """Send what is due; a sentence for each message that is given up."""
    until, failed, sentences = timer.seconds() + _RUN_S, set[int | None](), list[str]()
    wanted = Q(webhook=None) | Q(webhook__is_enabled=True)
    due = AlertDelivery.objects.filter(wanted, state=AlertDelivery.State.WAITING, due_at__lte=clock()).select_related(
        "webhook"
    )
    for message in due.order_by("created_at", "pk")[:_AT_ONCE]:
        if timer.seconds() > until:
            break
        if message.webhook_id in failed:
            continue  # later messages come after earlier ones, and a dead receiver costs one try
        if not send(message, outgoing, clock):
            failed.add(message.webhook_id)
            if message.state == AlertDelivery.State.FAILED:
                sentences.append(
                    f"Alert {message.event_id} to {message.webhook or 'mail'} is given up: {message.error}"
                )
    return sentences


def send(message: AlertDelivery, outgoing: Outgoing, clock: Callable[[], datetime]) -> bool:
    """Try once, and write down what came of it: was it taken?"""
    try:
        if message.webhook is None:
            _mail(message.event, outgoing.mail_to)
        else:
            message.status = _post(message, outgoing, int(clock().timestamp()))
        message.error = (
            "" if message.status is None or 200 <= message.status < 300 else f"The receiver answered {message.status}."
        )
    except (PinotAdminError, OSError, ValueError) as error:
        message.error = mask_text(without_nul(str(error)))[:500]
    now = clock()
    if not message.error:
        message.state, message.done_at = AlertDelivery.State.SENT, now
    else:
        message.failures += 1
        wait = next_try_s(message.failures, (now - message.created_at).total_seconds())
        if wait is None:
            message.state, message.done_at = AlertDelivery.State.FAILED, now
        else:
            message.due_at = now + timedelta(seconds=wait)
    message.save(update_fields=["state", "status", "error", "failures", "due_at", "done_at"])
    return not message.error


def send_test(message: AlertDelivery, outgoing: Outgoing, clock: Callable[[], datetime]) -> None:
    """Try once; a test is not sent again."""
    if not send(message, outgoing, clock):
        message.state, message.done_at = AlertDelivery.State.FAILED, clock()
        message.save(update_fields=["state", "done_at"])


def _post(message: AlertDelivery, outgoing: Outgoing, epoch_s: int) -> int:
    assert message.webhook is not None
    body = json.dumps(message.event, separators=(",", ":")).encode()
    headers = {
        "Content-Type": "application/json", "User-Agent": "pinotadmin", "X-Pinotadmin-Event": message.event_id,
        SIGNATURE: sign(outgoing.secret_of(message.webhook.pk), body, epoch_s),
    }  # fmt: skip
    return gated_post(message.webhook.url, outgoing.rules, body, headers=headers, timeout_s=_SEND_S)


def _mail(event: dict[str, Any], to: tuple[str, ...]) -> None:
    where = " of ".join(part for part in (event["table"], event["cluster"]) if part)
    lines = [event["message"], "", *(f"- {f['message']}" for f in event["findings"]), "", f"Event {event['id']}"]
    what = ", ".join(part for part in (event["kind"], where) if part)
    subject = " ".join(f"[pinotadmin] {event['severity']} {event['event']}: {what}".split())
    EmailMessage(subject, "\n".join(lines), None, list(to)).send()
