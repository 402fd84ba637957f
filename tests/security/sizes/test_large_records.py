"""Who may change one table cannot fill the audit record, or the memory of whoever opens it, with configs that are
large.
"""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User

from segments.api import audit as audit_api
from segments.models import AuditEvent, Grant
from segments.services.core import audit
from segments.services.core.context import Actor
from tests.api.cluster import ApiCluster, config_of

JSON = "application/json"


def test_what_is_recorded_of_one_change_is_bounded_and_says_so(cluster: ApiCluster) -> None:
    cluster.create("t")
    mia = cluster.as_user("mia")
    Grant.objects.create(user=User.objects.get(username="mia"), tables="t", right="administer")
    for text in ("a", "b"):
        config = config_of("t", metadata={"customConfigs": {"note": text * 400_000, "small": text}})
        assert mia.put("/tables/t", config, JSON).status_code == 200
    detail = AuditEvent.objects.filter(actor="mia").latest("id").detail
    assert len(json.dumps(detail)) < audit.LARGEST_DETAIL + 1000
    assert "(left out: 400," in json.dumps(detail)


def test_short_values_of_a_long_record_stay(db: None) -> None:
    event = audit.record(
        Actor("ann"), "x", before={"a": "x" * 300_000}, after={"a": "y" * 300_000}, entry="e-1", diff=[{"path": "a"}]
    )
    assert event.detail["entry"] == "e-1"
    assert event.detail["diff"] == [{"path": "a"}]
    assert event.detail["before"].startswith("(left out")


def test_a_page_of_the_record_ends_early_where_events_are_long(
    cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_api, "_MOST_CHARACTERS", 25_000)
    for number in range(12):
        audit.record(Actor("ann"), "long", text="x" * 10_000, number=number)
    seen: list[int] = []
    before: dict[str, int] = {}
    for _ in range(10):
        page = cluster.http.get("/api/v1/audit", {"limit": 1000, "action": "long", **before}).json()
        assert 0 < len(page["events"]) <= 3
        seen += [e["detail"]["number"] for e in page["events"]]
        if page["next"] is None:
            break
        before = {"before": page["next"]}
    assert seen == list(reversed(range(12)))
