"""Schemas and tables over REST: what is written, what is answered, what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from segments.models import AuditEvent
from segments.store import paths
from tests.api.cluster import ApiCluster, config_of, schema_of

JSON = "application/json"


def test_a_new_table_has_config_ideal_state_and_broker_row(cluster: ApiCluster) -> None:
    cluster.create(replication=2)
    assert cluster.http.get("/tables").json() == {"tables": ["t"]}
    assert cluster.http.get("/tables", {"type": "offline"}).json() == {"tables": ["t_OFFLINE"]}
    ideal = cluster.record(paths.ideal_state("t_OFFLINE"))
    assert (ideal.simple["REPLICAS"], ideal.simple["NUM_PARTITIONS"], ideal.maps) == ("2", "0", {})
    assert cluster.record(paths.BROKER_RESOURCE).maps == {"t_OFFLINE": {"Broker_127.0.0.1_9000": "ONLINE"}}
    assert json.loads(cluster.record(paths.table_config("t_OFFLINE")).simple["segmentsConfig"])["replication"] == "2"


def test_what_was_posted_is_what_is_read(cluster: ApiCluster) -> None:
    cluster.create(segments={"retentionTimeUnit": "DAYS", "retentionTimeValue": "9"})
    body = cluster.http.get("/tables/t").json()
    assert list(body) == ["OFFLINE"]
    assert body["OFFLINE"]["tableName"] == "t_OFFLINE"
    assert body["OFFLINE"]["segmentsConfig"]["retentionTimeValue"] == "9"
    assert cluster.http.get("/tables/t_OFFLINE/schema").json()["schemaName"] == "t"


def test_a_table_is_created_once(cluster: ApiCluster) -> None:
    answer = cluster.create().http.post("/tables", config_of(), JSON)
    assert answer.status_code == 409
    assert answer.json()["code"] == 409
    assert "t_OFFLINE" in answer.json()["error"]


@pytest.mark.parametrize(
    "change",
    [{"tableName": None}, {"tableType": "BAR"}, {"tableType": None}, {"segmentsConfig": {"timeColumnName": "nope"}}],
)
def test_a_bad_config_is_refused_with_400_and_nothing_is_written(
    cluster: ApiCluster, change: dict[str, object]
) -> None:
    cluster.http.post("/schemas", schema_of(), JSON)
    body = {k: v for k, v in {**config_of(), **change}.items() if v is not None}
    assert cluster.http.post("/tables", body, JSON).status_code == 400
    assert cluster.http.get("/tables").json() == {"tables": []}


def test_a_table_needs_its_schema_first(cluster: ApiCluster) -> None:
    answer = cluster.http.post("/tables", config_of(), JSON)
    assert answer.status_code == 400
    assert "POST /schemas" in answer.json()["error"]


def test_broken_json_is_400(cluster: ApiCluster) -> None:
    for path in ("/tables", "/schemas"):
        assert cluster.http.post(path, "{not json", JSON).status_code == 400


def test_a_change_of_replication_reaches_the_ideal_state(cluster: ApiCluster) -> None:
    cluster.create()
    assert cluster.http.put("/tables/t", config_of(replication=2), JSON).status_code == 200
    assert cluster.record(paths.ideal_state("t_OFFLINE")).simple["REPLICAS"] == "2"
    assert cluster.http.put("/tables/other", config_of("other"), JSON).status_code == 404
    assert cluster.http.put("/tables/other", config_of("t"), JSON).status_code == 400


def test_validation_writes_nothing(cluster: ApiCluster) -> None:
    cluster.http.post("/schemas", schema_of(), JSON)
    assert cluster.http.post("/tables/validate", config_of(), JSON).status_code == 200
    assert cluster.http.post("/schemas/validate", schema_of("u"), JSON).status_code == 200
    assert cluster.http.get("/tables").json() == {"tables": []}
    assert cluster.http.get("/schemas").json() == ["t"]


def test_dropping_a_table_leaves_nothing_and_its_name_can_be_used_again(cluster: ApiCluster) -> None:
    cluster.create().push("s0")
    start = {"segmentsFrom": ["s0"], "segmentsTo": ["s1"]}
    assert cluster.http.post("/segments/t/startReplaceSegments?type=OFFLINE", start, JSON).status_code == 200
    cluster.memory.delete(paths.external_view("t_OFFLINE"))
    answer = cluster.http.delete("/tables/t?type=offline", headers={"X-Reason": "no longer needed"})
    assert answer.json() == {"status": "Tables: [t_OFFLINE] deleted"}
    left = (
        paths.table_config,
        paths.ideal_state,
        paths.external_view,
        paths.lineage,
        paths.segments,
        paths.pending_deletions,
    )
    assert [p("t_OFFLINE") for p in left if cluster.memory.exists(p("t_OFFLINE")) is not None] == []
    assert cluster.record(paths.BROKER_RESOURCE).maps == {}
    assert cluster.files == []
    event = AuditEvent.objects.get(action="deleteTable")
    assert (event.actor, event.reason, event.target) == ("root", "no longer needed", "t_OFFLINE")
    assert cluster.http.delete("/schemas/t").status_code == 200
    cluster.create().push("s1")
    assert list(cluster.ideal) == ["s1"]


def test_the_files_of_a_dropped_table_are_kept_for_its_retention(cluster: ApiCluster) -> None:
    cluster.create().push("s0")
    cluster.memory.delete(paths.external_view("t_OFFLINE"))
    cluster.http.delete("/tables/t")
    assert [f.name for f in cluster.ctx.deep_store.files("Deleted_Segments/t")] == ["s0"]


def test_unknown_things_are_404(cluster: ApiCluster) -> None:
    for path in ("/tables/nope", "/schemas/nope", "/tables/nope/schema", "/segments/nope", "/instances/nope"):
        answer = cluster.http.get(path)
        assert answer.status_code == 404, path
        assert "nope" in answer.json()["error"]
    assert cluster.http.delete("/tables/nope").status_code == 404


def test_a_schema_grows_but_never_changes_a_column(cluster: ApiCluster) -> None:
    cluster.create()
    grown = schema_of()
    grown["dimensionFieldSpecs"].append({"name": "extra", "dataType": "STRING"})
    assert cluster.http.put("/schemas/t", grown, JSON).status_code == 200
    grown["dimensionFieldSpecs"][1]["dataType"] = "STRING"
    answer = cluster.http.put("/schemas/t", grown, JSON)
    assert answer.status_code == 400
    assert "'n'" in answer.json()["error"]
    assert cluster.http.get("/schemas/t").json()["dimensionFieldSpecs"][1]["dataType"] == "INT"
    assert cluster.http.post("/schemas?override=false", schema_of(), JSON).status_code == 409


def test_a_schema_in_use_stays(cluster: ApiCluster) -> None:
    answer = cluster.create().http.delete("/schemas/t")
    assert answer.status_code == 409
    assert "t_OFFLINE" in answer.json()["error"]


def test_states_sizes_and_rows_of_a_table(cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.create(replication=2).push("s0", count=12)
    monkeypatch.setattr(
        "segments.api.tables.tables._sizes", lambda url, typed: {"s0": 100} if url.endswith(":8097") else {}
    )
    assert cluster.http.get("/tables/t/idealstate").json()["OFFLINE"] == cluster.ideal
    assert cluster.http.get("/tables/t/externalview").json()["OFFLINE"] == cluster.ideal
    size = cluster.http.get("/tables/t/size").json()["offlineSegments"]["segments"]["s0"]
    assert (size["reportedSizeInBytes"], size["estimatedSizeInBytes"], len(size["serverInfo"])) == (100, 200, 2)
    body = cluster.http.get("/tables/t/metadata?type=OFFLINE").json()
    assert (body["numRows"], body["numSegments"]) == (12, 1)


def test_another_cluster_has_addresses_of_its_own(cluster: ApiCluster, settings: object) -> None:
    cluster.create()
    assert cluster.http.get("/instances").json()["instances"] == [
        "Broker_127.0.0.1_9000",
        "Server_127.0.0.1_8098",
        "Server_127.0.0.1_8198",
    ]
    assert cluster.http.get(f"/clusters/{settings.CLUSTER_NAME}/tables").json() == {"tables": ["t"]}  # type: ignore[attr-defined]
    assert cluster.http.get("/clusters/nope/tables").status_code == 404


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"ingestionConfig": "x"}, "ingestionConfig"),
        ({"ingestionConfig": {"batchIngestionConfig": "x"}}, "ingestionConfig.batchIngestionConfig"),
        ({"metadata": {"customConfigs": "x"}}, "metadata.customConfigs"),
        ({"upsertConfig": "x"}, "upsertConfig"),
        ({"segmentsConfig": {"replication": [1]}}, "segmentsConfig.replication"),
    ],
)
def test_a_value_of_another_type_is_refused_by_its_path_wherever_a_config_is_sent(
    cluster: ApiCluster, change: dict[str, Any], path: str
) -> None:
    cluster.create()
    for method, address in (("post", "/tables"), ("put", "/tables/t"), ("post", "/tables/validate")):
        answer = getattr(cluster.http, method)(address, {**config_of(), **change}, "application/json")
        assert (answer.status_code, answer.json()["error"].split(":")[0], answer.json()["field"]) == (400, path, path)
        assert answer.json()["remedy"]


def test_primary_keys_that_are_no_texts_are_refused_by_their_path(cluster: ApiCluster) -> None:
    answer = cluster.http.post("/schemas", {**schema_of(), "primaryKeyColumns": [[{}]]}, "application/json")
    assert (answer.status_code, answer.json()["field"]) == (400, "primaryKeyColumns[0]")


def test_a_stored_config_that_cannot_be_read_is_replaced_by_a_good_one(cluster: ApiCluster) -> None:
    cluster.create()
    node = cluster.memory.get(paths.table_config("t_OFFLINE"))
    assert node is not None
    assert node.record is not None
    cluster.memory.replace(
        paths.table_config("t_OFFLINE"), node.record.with_simple(ingestionConfig='"x"'), node.version
    )
    assert "cannot be read" in cluster.http.get("/tables/t").json()["error"]
    assert cluster.http.put("/tables/t", config_of(), "application/json").status_code == 200
    assert cluster.http.get("/tables/t").status_code == 200


def test_a_config_is_kept_as_it_was_sent(cluster: ApiCluster) -> None:
    sent = {
        **config_of(),
        "segmentsConfig": {"timeColumnName": "day", "replication": 1, "new": [None]},
        "query": {"timeoutMs": "5"},
    }
    cluster.create()
    assert cluster.http.put("/tables/t", sent, "application/json").status_code == 200
    stored = cluster.http.get("/tables/t").json()["OFFLINE"]
    assert (stored["segmentsConfig"], stored["query"]) == (sent["segmentsConfig"], sent["query"])
