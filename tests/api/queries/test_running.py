"""Which queries run, and cancelling one: by its owner or an administrator, and by nobody else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from segments import wiring
from segments.dataplane import stopping
from segments.models import AuditEvent
from tests.api.cluster import ApiCluster
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


class Patient:
    """A broker whose queries run until they are cancelled."""

    def query(self, sql: str, options: Any = None) -> dict[str, Any]:
        stop = stopping.current()
        wait_until(lambda: stop.is_set, 20, "the cancelling")
        return {"exceptions": [{"errorCode": 503, "message": "cancelled"}], "requestId": stop.query}


@pytest.fixture
def patient(cluster: ApiCluster) -> Iterator[ApiCluster]:
    """The cluster, asked through such a broker."""
    with wiring.use(cluster.ctx, Patient()):
        yield cluster


class Asked:
    """A query that somebody sends from a thread of its own."""

    def __init__(self, client: Client, client_id: str = "") -> None:
        self.answers: list[Any] = []
        body = {"sql": "select count(*) from t", "queryOptions": f"clientQueryId={client_id}" if client_id else ""}

        def send() -> None:
            try:
                self.answers.append(client.post("/query/sql", body, content_type="application/json").json())
            finally:
                connections.close_all()

        self.thread = threading.Thread(target=send)
        self.thread.start()

    def end(self) -> dict[str, Any]:
        """Its answer."""
        self.thread.join(30)
        found: dict[str, Any] = self.answers[0]
        return found


def running(client: Client, query: str = "") -> list[dict[str, Any]]:
    """What is listed."""
    found: list[dict[str, Any]] = client.get(f"/api/v1/queries{query}").json()["queries"]
    return found


def test_a_query_is_listed_while_it_runs_and_cancelled_by_its_owner(patient: ApiCluster) -> None:
    ann = patient.as_user("ann")
    asked = Asked(ann)
    try:
        [listed] = wait_until(lambda: running(ann), 10, "the query listed")
        assert (listed["owner"], listed["sql"]) == ("ann", "select count(*) from t")
    finally:
        answer = ann.delete(f"/api/v1/queries/{running(ann)[0]['id']}").json()
    assert asked.end()["exceptions"][0]["errorCode"] == 503
    assert answer["cancelled"] == [listed["id"]] == [asked.end()["requestId"]]
    assert running(ann) == []
    event = AuditEvent.objects.get(action="cancelQuery")
    assert (event.actor, event.target, event.detail["owner"]) == ("ann", listed["id"], "ann")


def test_others_neither_see_nor_cancel_it_but_administrators_do(patient: ApiCluster) -> None:
    ann, bob = patient.as_user("ann"), patient.as_user("bob", "operate")
    asked = Asked(ann, "nightly")
    try:
        [listed] = wait_until(lambda: running(ann), 10, "the query listed")
        assert listed["clientQueryId"] == "nightly"
        assert running(bob) == running(bob, "?all=true") == []
        for name in (listed["id"], "nightly", "nothing"):
            assert bob.delete(f"/api/v1/queries/{name}").status_code == 404
        assert running(patient.http) == [], "an administrator asks for those of all"
        assert [q["id"] for q in running(patient.http, "?all=true")] == [listed["id"]]
        assert patient.http.delete("/api/v1/queries/nightly").status_code == 404, "ids of clients are of their owner"
    finally:
        assert patient.http.delete(f"/api/v1/queries/{listed['id']}?reason=stuck").status_code == 200
    assert asked.end()["exceptions"][0]["errorCode"] == 503
    event = AuditEvent.objects.get(action="cancelQuery", outcome="done")
    assert (event.actor, event.reason, event.detail["owner"]) == ("root", "stuck", "ann")


def test_one_cancels_by_the_id_that_one_gave(patient: ApiCluster) -> None:
    ann = patient.as_user("ann")
    asked = Asked(ann, "nightly")
    wait_until(lambda: running(ann), 10, "the query listed")
    assert ann.delete("/api/v1/queries/nightly").status_code == 200
    assert asked.end()["exceptions"][0]["errorCode"] == 503


def test_an_id_that_is_no_name_is_refused(patient: ApiCluster) -> None:
    body = {"sql": "select 1 from t", "queryOptions": f"clientQueryId={'x' * 101}"}
    answer = patient.http.post("/query/sql", body, content_type="application/json")
    assert answer.status_code == 400
    assert "clientQueryId" in answer.json()["error"]
