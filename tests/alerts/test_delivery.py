"""Messages reach their receivers: once, signed, again after a failure, and never at the cost of others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from segments.domain.access.outgoing import Kind, Rules
from segments.domain.alerts.rules import SIGNATURE, Wish, sign
from segments.domain.upkeep.findings import Found
from segments.errors import InvalidInput, StateConflict
from segments.models import AlertDelivery, AuditEvent, Finding, Webhook
from segments.services.alerts import delivery, events, webhooks
from segments.services.alerts.delivery import Outgoing
from segments.services.alerts.webhooks import Kept, WebhookSpec
from segments.services.core.context import Actor
from segments.services.upkeep.validation import keep_findings
from tests.alerts.receiver import Receiver, receiving

pytestmark = pytest.mark.django_db

ANN = Actor("ann", "a test")
NOW = timezone.now()
GONE = Found("no-file", "s", "error", "The deep store has no file of segment s.")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path, Rules(Kind.WEBHOOK, loopback=True))


def outgoing(kept: Kept, *mail_to: str) -> Outgoing:
    return Outgoing(kept.rules, lambda hook: webhooks.secret_of(kept.data_dir, hook), mail_to)


def find(*found: Found, table: str = "t_OFFLINE") -> None:
    keep_findings("own", table, list(found), owns=lambda code: True)


def announce(by_mail: Wish | None = None) -> int:
    return events.announce(NOW, by_mail=by_mail)


def deliver(kept: Kept, at_s: float = 0, *mail_to: str) -> list[str]:
    return delivery.deliver(outgoing(kept, *mail_to), lambda: NOW + timedelta(seconds=at_s))


def test_one_message_is_sent_when_a_finding_opens_and_one_when_it_closes(kept: Kept, receiver: Receiver) -> None:
    hook, secret = webhooks.add_webhook(kept, WebhookSpec("ops", receiver.url), ANN)
    for found in ([GONE], [GONE], [], []):
        find(*found)
        announce()
        deliver(kept)
    assert [(e["event"], e["table"], e["kind"], e["severity"], e["count"]) for e in receiver.events] == [
        ("opened", "t_OFFLINE", "no-file", "error", 1), ("closed", "t_OFFLINE", "no-file", "error", 1),
    ]  # fmt: skip
    assert len({e["id"] for e in receiver.events}) == 2
    headers, body = receiver.taken[0]
    assert headers["X-Pinotadmin-Event"] == receiver.events[0]["id"]
    assert headers[SIGNATURE] == sign(secret, body, int(NOW.timestamp()))
    assert [d.state for d in hook.deliveries.all()] == ["SENT", "SENT"]


def test_hundreds_of_findings_of_one_kind_are_one_event(kept: Kept, receiver: Receiver) -> None:
    webhooks.add_webhook(kept, WebhookSpec("ops", receiver.url), ANN)
    find(*(Found("not-served", f"s{n}", "error", f"No server serves segment s{n}.") for n in range(300)))
    assert announce() == 1
    deliver(kept)
    (event,) = receiver.events
    assert (event["count"], len(event["findings"])) == (300, 20)
    assert event["message"].endswith("And 299 more.")


def test_what_is_not_wanted_is_not_sent_and_neither_to_one_that_is_off(kept: Kept, receiver: Receiver) -> None:
    webhooks.add_webhook(kept, WebhookSpec("sales", receiver.url, tables="sales_*"), ANN)
    webhooks.add_webhook(kept, WebhookSpec("off", receiver.url, is_enabled=False), ANN)
    find(GONE)
    assert announce() == 1
    assert not AlertDelivery.objects.exists()


def test_a_receiver_that_fails_gets_it_again_later_and_others_go_on(kept: Kept, receiver: Receiver) -> None:
    receiver.status = 500
    broken, _ = webhooks.add_webhook(kept, WebhookSpec("broken", receiver.url), ANN)
    find(GONE)
    find(GONE, table="u_OFFLINE")
    announce()
    deliver(kept)
    assert len(receiver.taken) == 1, "one try for both: what failed once is not asked a second time in a look"
    assert sorted((d.state, d.failures, d.status) for d in broken.deliveries.all()) == [
        ("WAITING", 0, None),
        ("WAITING", 1, 500),
    ]
    receiver.status = 204
    deliver(kept, 5)
    assert len(receiver.taken) == 2
    deliver(kept, 11)
    assert [d.state for d in broken.deliveries.all()] == ["SENT", "SENT"]
    assert {e["id"] for e in receiver.events} == {d.event_id for d in broken.deliveries.all()}


def test_after_a_day_it_is_given_up_and_logged(kept: Kept, receiver: Receiver) -> None:
    receiver.status = 302
    webhooks.add_webhook(kept, WebhookSpec("moved", receiver.url), ANN)
    find(GONE)
    announce()
    (said,) = deliver(kept, 90_000)
    assert "to moved is given up: The receiver answered 302." in said
    assert len(receiver.taken) == 1, "redirects are not followed"


def test_a_receiver_that_never_answers_costs_its_own_time_only(
    kept: Kept, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "_SEND_S", 0.3)
    receiver.silent = threading.Event()
    webhooks.add_webhook(kept, WebhookSpec("a silent one", receiver.url), ANN)
    with receiving() as other:
        webhooks.add_webhook(kept, WebhookSpec("other", other.url), ANN)
        find(GONE)
        announce()
        deliver(kept)
        assert len(other.taken) == 1
    assert "took too long" in AlertDelivery.objects.get(webhook__name="a silent one").error


def test_the_gate_is_asked_when_it_is_added_and_again_when_it_is_sent(kept: Kept, receiver: Receiver) -> None:
    for url in (
        "http://169.254.169.254/latest",
        "http://other.example/hook",
        "ftp://127.0.0.1/x",
        "http://u:p@127.0.0.1/",
    ):
        with pytest.raises(InvalidInput) as refused:
            webhooks.add_webhook(kept, WebhookSpec("x", url), ANN)
        assert refused.value.data["field"] == "url"
    webhooks.add_webhook(kept, WebhookSpec("ops", receiver.url), ANN)
    find(GONE)
    announce()
    delivery.deliver(Outgoing(Rules(Kind.WEBHOOK), lambda hook: "s" * 20), lambda: NOW)
    assert not receiver.taken
    assert "nothing configured allows it" in AlertDelivery.objects.get().error


def test_mail_goes_to_those_who_are_configured(kept: Kept) -> None:
    find(GONE, Found("few-servers", "", "warning", "Fewer servers are alive."))
    announce(Wish(severity="error"))
    deliver(kept, 0, "ops@example.org")
    (sent,) = mail.outbox
    assert (sent.to, sent.subject) == (["ops@example.org"], "[pinotadmin] error opened: no-file, t_OFFLINE of own")
    assert GONE.message in sent.body
    assert AlertDelivery.objects.get().state == "SENT"


def test_a_finding_that_closed_before_the_first_message_is_never_sent(kept: Kept, receiver: Receiver) -> None:
    webhooks.add_webhook(kept, WebhookSpec("ops", receiver.url), ANN)
    find(GONE)
    find()
    assert announce() == 0
    assert Finding.objects.get().open_notified


def test_secrets_are_in_a_private_file_only_and_addresses_are_not_in_the_audit(
    kept: Kept, receiver: Receiver, settings: Any
) -> None:
    hook, secret = webhooks.add_webhook(kept, WebhookSpec("ops", f"{receiver.url}/T0K3N"), ANN)
    assert len(secret) > 30
    assert (kept.data_dir / webhooks.FILE).stat().st_mode & 0o077 == 0
    webhooks.change_webhook(kept, hook.pk, WebhookSpec("ops", receiver.url, secret="another secret of mine"), ANN)
    assert webhooks.secret_of(kept.data_dir, hook.pk) == "another secret of mine"
    with pytest.raises(StateConflict):
        webhooks.add_webhook(kept, WebhookSpec("ops", receiver.url), ANN)
    webhooks.remove_webhook(kept, hook.pk, ANN)
    with pytest.raises(InvalidInput):
        webhooks.secret_of(kept.data_dir, hook.pk)
    assert not Webhook.objects.exists()
    audited = str(list(AuditEvent.objects.values()))
    assert [e.action for e in AuditEvent.objects.order_by("pk")] == ["addWebhook", "changeWebhook", "removeWebhook"]
    assert secret not in audited
    assert "another secret of mine" not in audited
    assert "T0K3N" not in audited


def test_nothing_is_sent_to_a_webhook_that_was_turned_off_meanwhile(kept: Kept, receiver: Receiver) -> None:
    hook, _ = webhooks.add_webhook(kept, WebhookSpec("ops", receiver.url), ANN)
    find(GONE)
    announce()
    Webhook.objects.filter(pk=hook.pk).update(is_enabled=False)
    deliver(kept)
    assert not receiver.taken
