"""The page of alerts: who is notified, a new webhook whose secret is shown once, the test button, and what became of
each message.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from segments.domain.upkeep.findings import Found
from segments.models import AuditEvent, Webhook
from segments.services.upkeep.validation import keep_findings
from tests.alerts.receiver import Receiver, receiving
from tests.console.conftest import logged_in
from tests.factories import CLUSTER

PAGE = "/console/alerts/"


@pytest.fixture
def receiver(tmp_path: Path, settings: Any) -> Iterator[Receiver]:
    settings.DATA_DIR = tmp_path
    with receiving() as found:
        yield found


@pytest.fixture
def admin(db: None) -> Client:
    return logged_in("root", is_superuser=True)


def body(url: str, **more: str) -> dict[str, str]:
    return {
        "name": "ops",
        "url": url,
        "tables": "*",
        "cluster": "*",
        "severity": "warning",
        "is_enabled": "on",
        "reason": "a test",
        **more,
    }


def test_a_webhook_is_added_tested_changed_and_removed(admin: Client, receiver: Receiver) -> None:
    assert "No webhooks" in admin.get(PAGE).content.decode()
    made = admin.post(PAGE, body(receiver.url)).content.decode()
    assert "Copy it now: it is not shown again." in made
    row = Webhook.objects.get()
    own = f"{PAGE}{row.pk}/"
    assert "The test was taken with status 200." in admin.post(f"{own}test/", follow=True).content.decode()
    receiver.status = 500
    shown = admin.post(f"{own}test/", follow=True).content.decode()
    assert "The test was not taken: The receiver answered 500." in shown
    assert "given up" in shown
    assert admin.post(own, body(receiver.url, tables="sales_*")).status_code == 302
    assert Webhook.objects.get().tables == "sales_*"
    assert admin.post(own, body("ftp://nowhere/")).status_code == 400
    assert admin.post(f"{own}remove/", {"reason": "not needed"}).status_code == 302
    assert not Webhook.objects.exists()


def test_without_the_right_nothing_is_seen_and_the_try_is_on_record(operator: Client, receiver: Receiver) -> None:
    row = Webhook.objects.create(name="ops", url=f"{receiver.url}/T0K3N")
    for address in (PAGE, f"{PAGE}{row.pk}/", f"{PAGE}{row.pk}/remove/"):
        answer = operator.get(address)
        assert answer.status_code == 403
        assert "T0K3N" not in answer.content.decode()
    assert operator.post(f"{PAGE}{row.pk}/test/").status_code == 403
    assert AuditEvent.objects.filter(outcome="refused").count() == 4
    assert not receiver.taken


def test_findings_of_the_installation_have_a_way_on(admin: Client) -> None:
    keep_findings(
        CLUSTER, "", [Found("worker-stuck", "repairs", "error", "It finished nothing.")], owns=lambda code: True
    )
    text = admin.get("/console/findings/").content.decode()
    assert "Worker does not work" in text
    assert "the installation" in text
    assert 'href="/console/servers/"' in text


def test_a_test_by_mail_is_sent_and_on_record(admin: Client, settings: Any, mailoutbox: list[Any]) -> None:
    assert "Send a test" not in admin.get(PAGE).content.decode()
    refused = admin.post(f"{PAGE}mail/test/")
    assert "Mail is off." in refused.content.decode()
    settings.ALERT_MAIL_TO = ["ops@example.org"]
    assert "test-mail" in admin.get(PAGE).content.decode()
    shown = admin.post(f"{PAGE}mail/test/", follow=True).content.decode()
    assert "The mail server took the test for ops@example.org." in shown
    assert [(m.to, m.subject) for m in mailoutbox] == [(["ops@example.org"], "[pinotadmin] warning test: test")]
    assert AuditEvent.objects.get(action="testMail").target == "ops@example.org"
