"""Findings over REST: listed by table, fixed with a dry run first, snoozed and lifted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from segments import wiring
from segments.models import AuditEvent, Finding
from segments.services.realtime.realtime_validation import repair_consumption
from tests.api.cluster import basic
from tests.factories import CLUSTER, make_finding
from tests.services.realtime_world import TABLE, RealtimeWorld

pytestmark = pytest.mark.django_db
BASE = f"/api/v1/tables/{TABLE.typed}/findings"


class Api:
    """A table whose commit is half done, asked as a superuser, or as one who may only read."""

    def __init__(self, folder: Path) -> None:
        self.world = RealtimeWorld(folder, partitions=1)
        self.world.ctx = replace(self.world.ctx, cluster=CLUSTER)
        self.world.done(self.world.consuming[0], "7")
        repair_consumption(self.world.ctx, TABLE)
        self.number = Finding.objects.get(code="consumption-half-commit").pk
        User.objects.create_superuser("root", password="a long enough secret")
        User.objects.create_user("reader", password="a long enough secret")
        self.root = Client(headers={"Authorization": basic("root", "a long enough secret")})
        self.reader = Client(headers={"Authorization": basic("reader", "a long enough secret")})

    def post(self, path: str, body: Any = None, **query: Any) -> Any:
        more = {"data": json.dumps(body), "content_type": "application/json"} if body is not None else {}
        return self.root.post(f"{BASE}/{self.number}/{path}", query_params=query, **more)

    def listed(self, **query: Any) -> Any:
        [found] = self.reader.get(BASE, query_params=query).json()["findings"]
        return found


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    found = Api(tmp_path)
    with wiring.use(found.world.ctx):
        yield found


def test_a_finding_is_listed_and_fixed_after_a_dry_run(api: Api) -> None:
    found = api.listed()
    assert (found["id"], found["kind"], found["isFixable"], found["snooze"]) == (
        api.number,
        "consumption-half-commit",
        True,
        None,
    )
    before = api.world.ideal
    plan = api.post("fix").json()
    assert plan["dryRun"] is True
    assert len(plan["writes"]) == 2
    assert api.world.ideal == before
    done = api.post("fix", dryRun="false", reason="ticket 7")
    assert done.status_code == 200
    assert done.json()["sentences"]
    assert AuditEvent.objects.get(action="fixFinding").reason == "ticket 7"
    assert api.post("fix").json()["whyNot"].startswith("There is nothing to write")
    assert api.post("fix", dryRun="false").status_code == 409
    repair_consumption(api.world.ctx, TABLE)
    assert api.reader.get(BASE).json()["findings"] == []
    assert api.listed(closed="true")["closedAt"]


def test_a_snooze_is_listed_with_its_reason_and_lifted(api: Api) -> None:
    assert api.post("snooze", {"period": "8h"}).status_code == 400  # no reason
    answer = api.post("snooze", {"period": "8h"}, reason="ticket 7")
    assert answer.status_code == 200
    assert api.listed()["snooze"] == answer.json()
    assert answer.json()["reason"] == "ticket 7"
    lifted = api.root.delete(f"{BASE}/{api.number}/snooze")
    assert lifted.status_code == 200
    assert api.listed()["snooze"] is None
    assert api.root.delete(f"{BASE}/{api.number}/snooze").status_code == 404


def test_what_concerns_no_table_is_listed_assigned_and_snoozed_with_the_right_for_the_cluster(api: Api) -> None:
    found = make_finding(table_name="", code="worker-stuck", subject="passes")
    base = "/api/v1/findings"
    [listed] = api.reader.get(base).json()["findings"]
    assert (listed["id"], listed["kind"], listed["isFixable"]) == (found.pk, "worker-stuck", False)
    body = {"data": '{"person": "reader"}', "content_type": "application/json"}
    assert api.reader.post(f"{base}/{found.pk}/assign", **body).status_code == 403
    assert api.root.post(f"{base}/{found.pk}/assign", **body).json() == {"assignee": "reader"}
    long = {"data": '{"period": "8h"}', "content_type": "application/json", "headers": {"X-Reason": "known"}}
    assert api.root.post(f"{base}/{found.pk}/snooze", **long).status_code == 200
    [listed] = api.reader.get(base).json()["findings"]
    assert (listed["assignee"], listed["snooze"]["reason"]) == ("reader", "known")
    assert api.root.delete(f"{base}/{found.pk}/snooze").status_code == 200
    assert api.root.post(f"{base}/{api.number}/snooze", **long).status_code == 404, "that one is a table's"
    assert api.root.post(f"{BASE}/{found.pk}/snooze", **long).status_code == 404


@pytest.mark.parametrize(
    "body",
    [{}, {"period": "soon"}, {"period": "0s"}, {"period": "999999999d"}, {"until": "2020-01-01T00:00:00Z"},
     {"until": "2020-13-01T00:00:00Z"}, {"until": "now"}, {"until": "9999-12-31T23:59:59Z"},
     {"until": "0001-01-01T00:00:00+23:59"}, {"period": "1h", "until": "2030-01-01T00:00:00Z"}, {"hours": 3}],
)  # fmt: skip
def test_an_end_that_makes_no_sense_is_refused(api: Api, body: dict[str, Any]) -> None:
    assert api.post("snooze", body, reason="x").status_code == 400
    assert api.listed()["snooze"] is None


def test_who_may_only_read_changes_nothing_and_other_tables_findings_are_not_there(api: Api) -> None:
    for path in ("fix", "snooze"):
        assert api.reader.post(f"{BASE}/{api.number}/{path}").status_code == 403
        assert api.root.post(f"{BASE}/{api.number + 1}/{path}").status_code in (400, 404)
    Finding.objects.update(table_name="other_REALTIME")
    assert api.post("fix").status_code == 404
