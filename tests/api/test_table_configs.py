"""``POST /tableConfigs/validate``: a schema and the configs that are to use it, checked before any of them is there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.cluster import ApiCluster, config_of, schema_of

JSON = "application/json"
PATH = "/tableConfigs/validate"


TWO_TIMES = schema_of()
TWO_TIMES["dateTimeFieldSpecs"] += [{**TWO_TIMES["dateTimeFieldSpecs"][0], "name": "other"}]


def realtime_of(time_column: str = "day") -> dict[str, Any]:
    stream = {
        "streamType": "kafka", "stream.kafka.topic.name": "t", "stream.kafka.broker.list": "127.0.0.1:1",
        "stream.kafka.decoder.class.name": "org.apache.pinot.plugin.inputformat.json.JSONMessageDecoder",
    }  # fmt: skip
    body = config_of(segments={"replicasPerPartition": "1", "timeColumnName": time_column}, tableType="REALTIME")
    return {**body, "tableIndexConfig": {"streamConfigs": stream}}


def test_documents_are_checked_together_and_nothing_is_written(cluster: ApiCluster) -> None:
    body = {"tableName": "t", "schema": schema_of(), "offline": config_of(), "extra": 1}
    answer = cluster.http.post(PATH, body, JSON)
    assert answer.status_code == 200, answer.content
    found = answer.json()
    assert list(found) == ["tableName", "schema", "offline", "unrecognizedProperties"]
    assert (found["tableName"], found["schema"]["schemaName"]) == ("t", "t")
    assert found["offline"]["tableName"] == "t_OFFLINE"
    assert found["unrecognizedProperties"] == {"/extra": 1}
    assert cluster.http.get("/tables").json() == {"tables": []}
    assert cluster.http.get("/schemas").json() == []


def test_the_schema_of_the_body_counts_and_not_the_stored_one(cluster: ApiCluster) -> None:
    cluster.create()
    other = {**schema_of(), "dateTimeFieldSpecs": []}
    answer = cluster.http.post(PATH, {"tableName": "t", "schema": other, "offline": config_of()}, JSON)
    assert answer.status_code == 400
    assert "day" in answer.json()["error"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"tableName": None}, "tableName"),
        ({"tableName": "u"}, "schemaName"),
        ({"schema": None}, "schema"),
        ({"schema": schema_of("u")}, "schemaName"),
        ({"offline": None}, "offline"),
        ({"offline": config_of("u")}, "offline.tableName"),
        ({"offline": None, "realtime": config_of()}, "OFFLINE table"),
        ({"offline": config_of(segments={"timeColumnName": "nope"})}, "nope"),
        ({"offline": "text"}, "offline"),
        ({"schema": TWO_TIMES, "realtime": realtime_of("other")}, "time columns"),
    ],
)
def test_what_does_not_fit_is_400_and_named(cluster: ApiCluster, change: dict[str, Any], named: str) -> None:
    body = {"tableName": "t", "schema": schema_of(), "offline": config_of(), **change}
    answer = cluster.http.post(PATH, {k: v for k, v in body.items() if v is not None}, JSON)
    assert answer.status_code == 400, answer.content
    assert named in answer.json()["error"]


def test_both_types_of_a_table_are_checked(cluster: ApiCluster) -> None:
    body = {"tableName": "t", "schema": schema_of(), "offline": config_of(), "realtime": realtime_of()}
    found = cluster.http.post(PATH, body, JSON)
    assert found.status_code == 200, found.content
    assert found.json()["realtime"]["tableName"] == "t_REALTIME"
