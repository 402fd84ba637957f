"""A table's config and schema over REST: read with a version, previewed, changed on it, kept as a history."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from segments.models import Grant
from tests.api.cluster import ApiCluster, config_of, schema_of

BASE, JSON = "/api/v1/tables/t/config", "application/json"


@pytest.fixture
def made(cluster: ApiCluster) -> ApiCluster:
    cluster.http.post("/schemas", schema_of(), JSON)
    cluster.http.post("/tables", config_of(), JSON)
    return cluster


def put(cluster: ApiCluster, body: dict[str, Any], etag: str = "") -> Any:
    headers = {"If-Match": etag} if etag else {}
    return cluster.http.put(BASE, body, JSON, headers=headers)


def test_a_change_names_the_version_that_was_read(made: ApiCluster) -> None:
    read = made.http.get(BASE)
    found = read.json()
    assert read["ETag"] == f'"{found["version"]}"'
    config = {**found["config"], "quota": {"storage": "1G"}}
    assert put(made, {"config": config}).status_code == 400
    done = put(made, {"config": config, "reason": "costs"}, read["ETag"])
    assert done.status_code == 200, done.content
    assert done.json()["version"] == made.http.get(BASE).json()["version"] != found["version"]
    assert put(made, {"config": found["config"]}, read["ETag"]).status_code == 412
    assert put(made, {"config": found["config"], "version": found["version"]}).status_code == 409


def test_a_preview_names_each_column_that_may_not_change(made: ApiCluster) -> None:
    schema = made.http.get(BASE).json()["schema"]
    dimensions = [{**spec, "dataType": "BYTES"} for spec in schema["dimensionFieldSpecs"]]
    found = made.http.post(f"{BASE}/preview", {"schema": {**schema, "dimensionFieldSpecs": dimensions}}, JSON).json()
    assert {r["field"] for r in found["refusals"]} == {f"schema.{spec['name']}" for spec in dimensions}
    assert all(d["document"] == "schema" for d in found["differences"])


def test_the_history_has_who_and_why_and_leads_back(made: ApiCluster) -> None:
    for size in ("1G", "2G"):
        found = made.http.get(BASE).json()
        config = {**found["config"], "quota": {"storage": size}}
        put(made, {"config": config, "version": found["version"], "reason": f"to {size}"})
    listed = made.http.get(f"{BASE}/history", {"limit": 2}).json()
    newest, before = listed["versions"]
    assert (newest["reason"], before["reason"], listed["more"]) == ("to 2G", "to 1G", True)
    assert newest["differences"][0]["path"].startswith("quota")
    older = made.http.get(f"{BASE}/history", {"before": before["id"]}).json()
    assert [v["document"] for v in older["versions"]] == ["config", "schema"]
    one = made.http.get(f"{BASE}/history/{before['id']}").json()
    assert one["body"]["quota"] == {"storage": "1G"}
    address, version = f"{BASE}/history/{before['id']}/revert", made.http.get(BASE).json()["version"]
    assert made.http.post(f"{address}?dryRun=true", {}, JSON).json()["differences"]
    assert made.http.get(BASE).json()["version"] == version
    assert made.http.post(address, {"version": version, "reason": "back"}, JSON).status_code == 200
    assert made.http.get(BASE).json()["config"]["quota"] == {"storage": "1G"}


def test_pinots_own_calls_enter_the_history(made: ApiCluster) -> None:
    config = {**made.http.get(BASE).json()["config"], "quota": {"storage": "3G"}}
    made.http.put("/tables/t", config, JSON, headers={"X-Reason": "by the old way"})
    assert made.http.get(f"{BASE}/history").json()["versions"][0]["reason"] == "by the old way"


@pytest.mark.parametrize("number", ["0", "4711", "99999999999999999999"])
def test_a_version_that_is_not_there_is_not_found(made: ApiCluster, number: str) -> None:
    assert made.http.get(f"{BASE}/history/{number}").status_code == 404
    assert made.http.post(f"{BASE}/history/{number}/revert", {"version": "x"}, JSON).status_code == 404


def test_secrets_are_masked_in_answers_and_kept_by_a_change(made: ApiCluster) -> None:
    found = made.http.get(BASE).json()
    secret = {"customConfigs": {"my.password": "hunter2-secret"}}
    config = {**found["config"], "metadata": secret}
    put(made, {"config": config, "version": found["version"]})
    read = made.http.get(BASE).json()
    texts = [made.http.get(f"{BASE}/history").content, made.http.get(BASE).content]
    assert not any(b"hunter2" in text for text in texts)
    changed = {**read["config"], "quota": {"storage": "1G"}}
    assert put(made, {"config": changed, "version": read["version"]}).status_code == 200
    shown = made.http.post("/api/v1/tables/t/secrets", {}, JSON, headers={"X-Reason": "look"}).json()
    assert "hunter2-secret" in str(shown)


def test_a_right_for_one_half_is_none_for_the_schema(made: ApiCluster) -> None:
    rita = made.as_user("rita")
    Grant.objects.create(user=User.objects.get(username="rita"), tables="t_OFFLINE", right="administer")
    found = rita.get("/api/v1/tables/t_OFFLINE/config").json()
    wider = {**found["schema"], "metricFieldSpecs": [{"name": "more", "dataType": "INT"}]}
    body = {"schema": wider, "version": found["version"]}
    assert rita.put("/api/v1/tables/t_OFFLINE/config", body, JSON).status_code == 403
    assert rita.put(BASE, body, JSON).status_code == 403
