"""What the audit keeps of a change of a table, a schema, its checks and the cluster's settings: before, after and the
difference.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from segments.domain.formats.recorded_change import recorded_change
from segments.models import AuditEvent
from segments.services.clusters import cluster_settings
from segments.services.replacement.checks import check_settings
from segments.services.tables import schemas, tables
from tests.api.cluster import ANN, TABLE, ApiCluster, config_of, schema_of
from tests.services.realtime_world import TABLE as STREAMING
from tests.services.realtime_world import RealtimeWorld
from tests.services.realtime_world import config_of as streaming_config

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(tmp_path: Path, settings: Any) -> ApiCluster:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    made = ApiCluster(tmp_path / "c")
    schemas.create_schema(made.ctx, schema_of(), override=False, actor=ANN)
    tables.create_table(made.ctx, config_of(), actor=ANN)
    return made


def detail_of(action: str) -> dict[str, Any]:
    detail: dict[str, Any] = AuditEvent.objects.filter(action=action, outcome="done").latest("pk").detail
    return detail


def test_a_changed_table_config_is_on_record_with_before_after_and_difference(cluster: ApiCluster) -> None:
    tables.update_table(cluster.ctx, "t", config_of(replication=2, quota={"storage": "1G"}), actor=ANN)
    detail = detail_of("updateTable")
    assert detail["diff"] == [
        {"path": "segmentsConfig.replication", "before": "1", "after": "2"},
        {"path": "quota", "after": {"storage": "1G"}},
    ]
    assert detail["before"] == {**config_of(), "tableName": TABLE.typed}
    assert detail["after"]["segmentsConfig"]["replication"] == "2"


def test_a_changed_secret_is_in_the_difference_and_masked_on_both_sides(tmp_path: Path) -> None:
    """``a`` keeps its address: only the password changes."""
    world = RealtimeWorld(tmp_path, stream={"stream.memory.password": "first-secret"})
    body = streaming_config(stream={"stream.memory.password": "second-secret"})
    tables.update_table(world.ctx, STREAMING.raw, body, actor=ANN)
    detail = detail_of("updateTable")
    path = "ingestionConfig.streamIngestionConfig.streamConfigMaps[0].stream.memory.password"
    assert detail["diff"] == [{"path": path, "before": "*****", "after": "*****"}]
    assert "secret" not in json.dumps(detail).replace(path, "")


def test_a_changed_schema_is_on_record_with_its_new_column(cluster: ApiCluster) -> None:
    wider = schema_of()
    wider["dimensionFieldSpecs"] = [*wider["dimensionFieldSpecs"], {"name": "more", "dataType": "STRING"}]
    schemas.update_schema(cluster.ctx, "t", wider, actor=ANN)
    detail = detail_of("updateSchema")
    assert (detail["before"], detail["after"]) == (schema_of(), wider)
    assert [d["path"] for d in detail["diff"]] == ["dimensionFieldSpecs"]


def test_changed_checks_are_on_record(cluster: ApiCluster) -> None:
    check = {"kind": "rowCount", "min": 1}
    check_settings.write_check_document(cluster.ctx, TABLE, {"checks": [check]}, actor=ANN)
    assert (detail_of("updateChecks")["before"], detail_of("updateChecks")["after"]) == (None, {"checks": [check]})


def test_changed_and_removed_settings_are_on_record_with_what_they_were(cluster: ApiCluster) -> None:
    cluster_settings.set_settings(cluster.ctx, {"a": "1"}, actor=ANN)
    cluster_settings.set_settings(cluster.ctx, {"a": "2"}, actor=ANN)
    assert detail_of("setClusterConfigs")["diff"] == [{"path": "a", "before": "1", "after": "2"}]
    cluster_settings.remove_setting(cluster.ctx, "a", actor=ANN)
    assert detail_of("deleteClusterConfig")["diff"] == [{"path": "a", "before": "2"}]


def test_lists_of_one_length_are_compared_item_by_item_and_others_as_a_whole() -> None:
    change = recorded_change({"a": [1, {"b": 2}], "c": [1]}, {"a": [1, {"b": 3}], "c": [1, 2]})
    assert change["diff"] == [
        {"path": "a[1].b", "before": 2, "after": 3},
        {"path": "c", "before": [1], "after": [1, 2]},
    ]
    assert recorded_change({"a": 1}, {"a": 1})["diff"] == []


def test_a_difference_lists_so_many_paths_at_most() -> None:
    assert len(recorded_change({}, {str(n): n for n in range(1000)})["diff"]) == 200
