"""Secrets of table configs over REST: masked in every answer, kept when the masked config comes back, revealed on
record only.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User

from pinotadmin.log_lines import WithoutSecrets
from segments.domain.push.push_spec import parse_spec
from segments.domain.tables import table_config
from segments.errors import InvalidInput
from segments.models import AuditEvent, Grant
from segments.secret_texts import MASK
from segments.services.core import audit
from segments.services.core.context import Actor
from segments.store import paths
from tests.api.cluster import ApiCluster, config_of
from tests.api.pinot import RealPinot, real_pinot

JSON = "application/json"
BATCH = {
    "inputDirURI": "s3://bucket/in",
    "input.fs.prop.region": "eu",
    "input.fs.prop.secretKey": "hidden-1",
    "input.fs.prop.accessKey": "hidden-2",
}


def config(**more: Any) -> dict[str, Any]:
    custom = {"sasl.jaas.config": 'Login required password="hidden-3";', "link": "redis://:hidden-4@redis:6379/0"}
    return config_of(
        metadata={"customConfigs": custom},
        task={"taskTypeConfigsMap": {"SegmentGenerationAndPushTask": {"push.authToken": "hidden-5"}}},
        ingestionConfig={"batchIngestionConfig": {"batchConfigMaps": [BATCH]}},
        **more,
    )


@pytest.fixture
def secrets(cluster: ApiCluster) -> ApiCluster:
    """Table ``t`` with five secrets in its config."""
    cluster.create("t")
    assert cluster.http.put("/tables/t", config(), JSON).status_code == 200
    return cluster


def stored(cluster: ApiCluster) -> dict[str, Any]:
    return dict(table_config.from_record(cluster.record(paths.table_config("t_OFFLINE"))).body)


def test_no_answer_shows_a_secret_and_what_is_stored_has_them(secrets: ApiCluster) -> None:
    for client in (secrets.http, secrets.as_user("reader")):
        for path in ("/tables/t", "/tables/t_OFFLINE", "/tables/t?type=OFFLINE"):
            text = client.get(path).content.decode()
            assert "hidden" not in text
            assert text.count(MASK) == 5
        answer = client.post("/tables/validate", config(), JSON)
        assert answer.status_code == 200
        assert "hidden" not in answer.content.decode()
    assert json.dumps(stored(secrets)).count("hidden") == 5


def test_the_masked_config_that_comes_back_keeps_its_secrets(secrets: ApiCluster) -> None:
    before = stored(secrets)
    shown = secrets.http.get("/tables/t").json()["OFFLINE"]
    shown["segmentsConfig"]["retentionTimeUnit"] = "DAYS"
    assert secrets.http.post("/tables/validate", shown, JSON).status_code == 200
    answer = secrets.http.put("/tables/t", shown, JSON)
    assert answer.status_code == 200, answer.content
    after = stored(secrets)
    assert after.pop("segmentsConfig") != before.pop("segmentsConfig")
    assert after == before


def test_a_kept_secret_does_not_follow_its_address_elsewhere(secrets: ApiCluster) -> None:
    before = stored(secrets)
    for change in ({"inputDirURI": "s3://evil/in"}, {"input.fs.prop.endpoint": "http://evil"}):
        shown = secrets.http.get("/tables/t").json()["OFFLINE"]
        shown["ingestionConfig"]["batchIngestionConfig"]["batchConfigMaps"][0].update(change)
        answer = secrets.http.put("/tables/t", shown, JSON)
        assert answer.status_code == 400
        assert "Give the secret again." in answer.json()["error"]
    shown = secrets.http.get("/tables/t").json()["OFFLINE"]
    shown["metadata"]["customConfigs"]["link"] = f"redis://:{MASK}@evil:6379/0"
    assert secrets.http.put("/tables/t", shown, JSON).status_code == 400
    assert stored(secrets) == before


def test_a_mask_is_no_secret_of_a_new_table(secrets: ApiCluster) -> None:
    shown = secrets.http.get("/tables/t").json()["OFFLINE"]
    assert secrets.http.post("/schemas", {"schemaName": "copy", "dimensionFieldSpecs": []}, JSON).status_code == 200
    answer = secrets.http.post("/tables", {**shown, "tableName": "copy"}, JSON)
    assert answer.status_code == 400
    assert "no secret is stored there" in answer.json()["error"]


def test_what_is_decided_by_an_older_read_is_not_written(secrets: ApiCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The secrets are those of the config that is replaced, also when another one came between."""
    shown = secrets.http.get("/tables/t").json()["OFFLINE"]
    path, replace = paths.table_config("t_OFFLINE"), secrets.memory.transaction
    changed = json.loads(json.dumps(config()).replace("hidden-4", "newer"))

    def between(writes: Any) -> Any:
        monkeypatch.setattr(secrets.memory, "transaction", replace)
        node = secrets.memory.get(path)
        assert node is not None
        secrets.memory.replace(path, table_config.parse_table_config(changed).to_record(), node.version)
        return replace(writes)

    monkeypatch.setattr(secrets.memory, "transaction", between)
    assert secrets.http.put("/tables/t", shown, JSON).status_code == 200
    assert stored(secrets)["metadata"]["customConfigs"]["link"] == "redis://:newer@redis:6379/0"


def test_secrets_are_revealed_to_administrators_of_the_table_for_a_reason_on_record(secrets: ApiCluster) -> None:
    path = "/api/v1/tables/t/secrets"
    reader, other, owner = (secrets.as_user(n) for n in ("reader", "other", "owner"))
    for name, tables, right in (("reader", "t", "operate"), ("other", "u", "administer"), ("owner", "t", "administer")):
        Grant.objects.create(user=User.objects.get(username=name), tables=tables, right=right)
    assert [c.post(path, headers={"X-Reason": "why"}).status_code for c in (reader, other)] == [403, 403]
    assert owner.get(path).status_code in (403, 405)
    assert owner.post(path).status_code == 400
    assert not AuditEvent.objects.filter(action="revealSecrets").exists()
    answer = owner.post(path, headers={"X-Reason": "the broker moved"})
    assert answer.status_code == 200
    assert answer["Cache-Control"] == "no-store"
    found = {s["path"]: s["value"] for s in answer.json()["OFFLINE"]}
    assert found["ingestionConfig.batchIngestionConfig.batchConfigMaps[0].input.fs.prop.secretKey"] == "hidden-1"
    assert len(found) == 5
    event = AuditEvent.objects.get(action="revealSecrets")
    assert (event.actor, event.target, event.reason) == ("owner", "t_OFFLINE", "the broker moved")
    assert sorted(event.detail["paths"]) == sorted(found)
    assert "hidden" not in json.dumps(event.detail)


def test_cluster_settings_show_no_secret_and_keep_one_that_comes_back_masked(cluster: ApiCluster) -> None:
    assert cluster.http.post("/cluster/configs", {"a.password": "hidden", "b": "1"}, JSON).status_code == 200
    shown = cluster.http.get("/cluster/configs").json()
    assert (shown["a.password"], shown["b"]) == (MASK, "1")
    assert "hidden" not in json.dumps([e.detail for e in AuditEvent.objects.all()])
    assert cluster.http.post("/cluster/configs", {"a.password": MASK, "b": "1"}, JSON).status_code == 200
    kept = cluster.record(f"{paths.CLUSTER_CONFIGS}/{cluster.ctx.cluster}")
    assert kept.simple["a.password"] == "hidden"
    assert cluster.http.post("/cluster/configs", {"c.password": MASK}, JSON).status_code == 400


def test_an_address_of_a_segment_shows_no_password(cluster: ApiCluster) -> None:
    cluster.create("t").push("s")
    path = paths.segment("t_OFFLINE", "s")
    node = cluster.memory.get(path)
    assert node is not None
    assert node.record is not None
    url = "https://ann:hidden@store/s?X-Amz-Signature=hidden"
    cluster.memory.replace(path, node.record.with_simple_items({"segment.download.url": url}), node.version)
    for address in ("/segments/t/s/metadata", "/segments/t/zkmetadata?type=OFFLINE"):
        text = cluster.http.get(address).content.decode()
        assert "hidden" not in text
        assert f"ann:{MASK}@store" in text


def test_the_record_errors_logs_and_pushes_hold_no_secret(db: None) -> None:
    event = audit.record(Actor("ann"), "x", error="redis://:hidden@h/ is away", before={"secretKey": "hidden"})
    assert "hidden" not in json.dumps(event.detail)
    assert str(InvalidInput("'redis://:hidden@h/0' does not read")) == f"'redis://:{MASK}@h/0' does not read"
    record = logging.LogRecord("x", logging.ERROR, "f", 1, "%s failed", ("http://u:hidden@h/",), None)
    assert WithoutSecrets("%(message)s").format(record) == f"http://u:{MASK}@h/ failed"
    spec = {
        "jobType": "SegmentCreationAndTarPush", "inputDirURI": "/in", "tableSpec": {"tableName": "t"},
        "recordReaderSpec": {"dataFormat": "csv"},
        "pinotFSSpecs": [{"scheme": "s3", "configs": {"secretKey": "hidden", "region": "eu"}}],
        "pinotClusterSpecs": [{"controllerURI": "http://u:hidden@h"}],
    }  # fmt: skip
    text = json.dumps(parse_spec(spec).body)
    assert "hidden" not in text
    assert '"region": "eu"' in text


# -- a real Pinot behind us


@pytest.fixture
def pinot(cluster: ApiCluster) -> Iterator[RealPinot]:
    """Cluster ``prod``."""
    with real_pinot(cluster) as found:
        yield found


CONFIG = {
    "tableName": "t_OFFLINE",
    "tableType": "OFFLINE",
    "tableIndexConfig": {"streamConfigs": {"a.password": "hidden", "url": "x:1"}},
}
SHOWN = {**CONFIG, "tableIndexConfig": {"streamConfigs": {"a.password": MASK, "url": "x:1"}}}


@pytest.mark.parametrize(
    "path", ["tables/t", "tableConfigs/t", "tables/t/anything", "tasks/task/x/config", "debug/tables/t"]
)
def test_answers_of_a_pinot_are_masked(cluster: ApiCluster, pinot: RealPinot, path: str) -> None:
    pinot.answer = lambda _: httpx.Response(200, json={"OFFLINE": CONFIG, "n": 1})
    answer = cluster.http.get(f"/clusters/prod/{path}")
    assert answer.json() == {"OFFLINE": SHOWN, "n": 1}


def test_an_answer_without_secrets_comes_back_byte_by_byte(cluster: ApiCluster, pinot: RealPinot) -> None:
    body = b'{ "b" :1.0,  "a":"\\u00e9" }'
    pinot.answer = lambda _: httpx.Response(200, content=body, headers={"Content-Type": "application/json"})
    assert cluster.http.get("/clusters/prod/tables/t").content == body


def test_an_answer_that_is_too_large_to_be_masked_is_not_passed_on(cluster: ApiCluster, pinot: RealPinot) -> None:
    large = json.dumps({"OFFLINE": CONFIG, "filler": "x" * (9 << 20)}).encode()
    pinot.answer = lambda _: httpx.Response(200, content=large, headers={"Content-Type": "application/json"})
    answer = cluster.http.get("/clusters/prod/tables/t")
    assert answer.status_code == 413
    assert b"hidden" not in answer.content


@pytest.mark.parametrize(
    ("method", "path"), [("put", "tableConfigs/t"), ("post", "tableConfigs"), ("post", "tableConfigs/validate")]
)
def test_what_is_sent_to_a_pinot_masked_arrives_with_its_secrets(
    cluster: ApiCluster, pinot: RealPinot, method: str, path: str
) -> None:
    pinot.answer = lambda seen: httpx.Response(
        200, json={"OFFLINE": CONFIG} if seen.method == "GET" else {"status": "ok"}
    )
    call = getattr(cluster.http, method)
    answer = call(f"/clusters/prod/{path}", {"tableName": "t", "offline": SHOWN}, JSON)
    assert answer.status_code == 200, answer.content
    assert json.loads(pinot.seen[-1].body) == {"tableName": "t", "offline": CONFIG}
    moved = {**SHOWN, "tableIndexConfig": {"streamConfigs": {"a.password": MASK, "url": "evil:1"}}}
    assert call(f"/clusters/prod/{path}", {"tableName": "t", "offline": moved}, JSON).status_code == 400
    pinot.answer = lambda seen: httpx.Response(404, json={"code": 404, "error": "Table not found"})
    assert call(f"/clusters/prod/{path}", {"tableName": "t", "offline": SHOWN}, JSON).status_code == 400


def test_masks_of_a_large_body_do_not_overwrite_the_secrets_of_a_pinot(
    cluster: ApiCluster, pinot: RealPinot, settings: Any
) -> None:
    pinot.answer = lambda seen: httpx.Response(
        200, json={"OFFLINE": CONFIG} if seen.method == "GET" else {"status": "ok"}
    )
    body = {"tableName": "t", "offline": SHOWN, "schema": {"note": "x" * (2 << 20)}}
    assert cluster.http.put("/clusters/prod/tableConfigs/t", body, JSON).status_code == 200
    assert json.loads(pinot.seen[-1].body)["offline"] == CONFIG
    settings.MAX_BODY_BYTES, before = 1 << 20, len(pinot.seen)
    assert cluster.http.put("/clusters/prod/tableConfigs/t", body, JSON).status_code == 413
    broken = json.dumps(SHOWN) + " and more, which Pinot would not mind"
    assert cluster.http.put("/clusters/prod/tableConfigs/t", broken, JSON).status_code == 400
    assert len(pinot.seen) == before


def test_a_mask_elsewhere_is_refused_before_it_replaces_a_secret_of_a_pinot(
    cluster: ApiCluster, pinot: RealPinot
) -> None:
    assert cluster.http.put("/clusters/prod/users/ann", {"password": MASK}, JSON).status_code == 400
    assert pinot.seen == []


def test_changing_a_table_of_a_pinot_keeps_its_secrets_and_no_refusal_repeats_them(
    cluster: ApiCluster, pinot: RealPinot
) -> None:
    def answer(seen: httpx.Request) -> httpx.Response:
        if seen.method == "GET":
            return httpx.Response(200, json={"OFFLINE": CONFIG})
        return httpx.Response(400, json={"code": 400, "error": f"Invalid table config: {seen.content.decode()}"})

    pinot.answer = answer
    refused = cluster.http.put("/clusters/prod/tables/t", {**SHOWN, "routing": {}}, JSON)
    assert refused.status_code == 400, refused.content
    assert b"hidden" in pinot.seen[-1].body
    assert b"hidden" not in refused.content
    assert "hidden" not in json.dumps([e.detail for e in AuditEvent.objects.all()])
    assert cluster.http.post("/clusters/prod/tables", SHOWN, JSON).status_code == 400
