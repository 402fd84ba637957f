"""Checks over REST: the table's document, results, refusals."""

from __future__ import annotations

import json

import pytest

from segments.models import AuditEvent
from segments.store import paths
from tests.api.cluster import ApiCluster, config_of

JSON = "application/json"
ADDRESS = "/api/v1/tables/t/checks"
DOCUMENT = {"checks": [{"kind": "rowCount", "minRatio": 0.8, "level": "warn"}], "timeoutMs": 5000}


def test_the_document_is_written_into_the_table_config_and_removed_again(cluster: ApiCluster) -> None:
    cluster.create()
    assert cluster.http.get(ADDRESS).json() == {"checks": [], "timeoutMs": 60000}
    assert cluster.http.put(ADDRESS, DOCUMENT, JSON).json() == DOCUMENT
    assert cluster.http.get(ADDRESS).json() == DOCUMENT
    body = cluster.http.get("/tables/t").json()["OFFLINE"]
    assert json.loads(body["metadata"]["customConfigs"]["pinotadmin.checks"]) == DOCUMENT
    assert AuditEvent.objects.get(action="updateChecks").detail["checks"] == ["rowCount"]
    cluster.http.put(ADDRESS, {"checks": []}, JSON)
    assert cluster.http.get("/tables/t").json()["OFFLINE"]["metadata"] == {"customConfigs": {}}


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({}, "checks"), ({"checks": [{}]}, "checks[0].kind"), ({"checks": [{"kind": "rowCount"}]}, "checks[0]"),
        ({"checks": [{"kind": "rowCount", "min": -1}]}, "checks[0].min"), ({"checks": [], "timeoutMs": 1}, "timeoutMs"),
        ({"checks": [{"kind": "nullShare", "column": "nowhere", "max": 0}]}, "nullShare nowhere"),
    ],
)  # fmt: skip
def test_a_bad_document_is_400_with_its_field_here_and_when_a_table_is_created(
    cluster: ApiCluster, document: dict[str, object], field: str
) -> None:
    cluster.create()
    before = cluster.record(paths.table_config("t_OFFLINE"))
    answer = cluster.http.put(ADDRESS, document, JSON)
    assert (answer.status_code, answer.json()["field"]) == (400, field)
    assert cluster.record(paths.table_config("t_OFFLINE")) == before
    config = {**config_of(), "metadata": {"customConfigs": {"pinotadmin.checks": json.dumps(document)}}}
    assert cluster.http.put("/tables/t", config, JSON).status_code == 400


def test_results_that_are_not_there_are_404_with_what_to_do(cluster: ApiCluster) -> None:
    cluster.create()
    answer = cluster.http.get("/api/v1/lineage/t/e1/checks")
    assert answer.status_code == 404
    assert "POST here" in answer.json()["remedy"]
    assert cluster.http.post("/api/v1/lineage/t/e1/checks").status_code == 404
    assert cluster.http.get("/api/v1/tables/nowhere/checks").status_code == 404


def test_a_start_that_declares_more_than_the_quota_allows_is_403_with_figures(cluster: ApiCluster) -> None:
    cluster.create(quota={"storage": "1K"})
    start = "/segments/t/startReplaceSegments?type=OFFLINE"
    body = {"segmentsFrom": [], "segmentsTo": ["a"], "customMap": {"pinotadmin.declaredBytes": "1025"}}
    refused = cluster.http.post(start, body, JSON)
    assert refused.status_code == 403
    assert (refused.json()["declaredBytes"], refused.json()["allowedBytes"]) == (1025, 1024)
    assert cluster.http.get("/segments/t/lineage?type=OFFLINE").content == b""
    assert (
        cluster.http.post(
            start, {**body, "customMap": {"pinotadmin.declaredBytes": 1024, "other": "x"}}, JSON
        ).status_code
        == 200
    )
    assert (
        cluster.http.post(start, {**body, "customMap": {"pinotadmin.declaredBytes": "lots"}}, JSON).status_code == 400
    )
    assert cluster.http.post(start, {**body, "customMap": ["x"]}, JSON).status_code == 400
