"""Webhooks over REST: added, changed, tested, removed; the secret is shown once; findings and waiting messages are on
/metrics.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from segments.domain.upkeep.findings import Found
from segments.models import AuditEvent
from segments.services.alerts import events
from segments.services.upkeep.validation import keep_findings
from tests.alerts.receiver import Receiver, receiving
from tests.api.cluster import ApiCluster

pytestmark = pytest.mark.django_db
JSON = "application/json"
HOOKS = "/api/v1/webhooks"


@pytest.fixture
def receiver(tmp_path: Path, settings: Any) -> Iterator[Receiver]:
    settings.DATA_DIR = tmp_path
    with receiving() as found:
        yield found


def test_a_webhook_is_added_tested_changed_and_removed(cluster: ApiCluster, receiver: Receiver) -> None:
    made = cluster.http.post(
        HOOKS, {"name": "ops", "url": receiver.url, "severity": "error"}, JSON, headers={"X-Reason": "on call"}
    )
    assert made.status_code == 201
    assert len(made.json()["secret"]) > 30
    address = made["Location"]
    assert cluster.http.get(address).json()["secret"] == "*****"
    tested = cluster.http.post(f"{address}/test").json()
    assert (tested["state"], tested["status"]) == ("SENT", 200)
    assert receiver.events[0]["event"] == "test"
    receiver.status = 410
    assert cluster.http.post(f"{address}/test").json()["error"] == "The receiver answered 410."
    assert [d["state"] for d in cluster.http.get(f"{address}/deliveries").json()["deliveries"]] == ["FAILED", "SENT"]
    changed = cluster.http.put(address, {"tables": "sales_*", "enabled": False}, JSON).json()
    assert (changed["name"], changed["tables"], changed["severity"], changed["enabled"]) == (
        "ops",
        "sales_*",
        "error",
        False,
    )
    assert made.json()["secret"] not in str([*AuditEvent.objects.values()])
    assert cluster.http.delete(address).status_code == 200
    assert cluster.http.get(address).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "x", "url": "http://169.254.169.254/"}, "url"), ({"name": "", "url": "http://127.0.0.1/"}, "name"),
        ({"name": "x", "url": "http://127.0.0.1/", "severity": "fatal"}, "severity"),
        ({"name": "x", "url": "http://127.0.0.1/", "secret": "short"}, "secret"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_its_field(
    cluster: ApiCluster, receiver: Receiver, body: dict[str, Any], field: str
) -> None:
    answer = cluster.http.post(HOOKS, body, JSON)
    assert (answer.status_code, answer.json()["field"]) == (400, field)


def test_findings_and_messages_that_wait_are_on_metrics(cluster: ApiCluster, receiver: Receiver) -> None:
    cluster.http.post(HOOKS, {"name": "ops", "url": receiver.url}, JSON)
    keep_findings("test", "t_OFFLINE", [Found("push-failed", "p", "error", "It failed.")], owns=lambda code: True)
    events.announce(timezone.now(), by_mail=None)
    text = cluster.http.get("/metrics").content.decode()
    assert 'pinotadmin_findings{cluster="test",kind="push-failed",severity="error"} 1.0' in text
    assert 'pinotadmin_alerts_waiting{receiver="ops"} 1.0' in text
