"""Tables, schemas, instances and settings of a Pinot cluster go through its controller, are on record, and are
verified when the answer is lost.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from segments.errors import InvalidInput, NotFound, OutcomeUnknown, PinotAdminError, StateConflict
from segments.models import AuditEvent
from segments.services.clusters import cluster_settings, instances
from segments.services.replacement.checks import check_settings
from segments.services.replacement.checks.check_settings import read_check_document
from segments.services.tables import schemas, tables
from tests.pinot_cluster.fake_pinot import Fault, PinotCluster
from tests.pinot_cluster.replacement.test_replacement import LOST
from tests.push.pushing import SCHEMA, PushWorld, config
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db

NEW = {**SCHEMA, "schemaName": "u"}


@pytest.fixture
def cluster(tmp_path: Path) -> PinotCluster:
    """Table t with a schema."""
    return PinotCluster(tmp_path, inside=PushWorld(tmp_path / "pushes"))


def outcomes(action: str) -> list[str]:
    return list(AuditEvent.objects.filter(action=action, cluster="prod").values_list("outcome", flat=True))


@pytest.mark.parametrize("fault", [None, *LOST])
def test_a_schema_and_a_table_are_made_once(cluster: PinotCluster, fault: Fault | None) -> None:
    if fault:
        cluster.rest.faults.update({1: fault, 4: fault})
    schemas.create_schema(cluster.ctx, NEW, override=False, actor=ANN)
    made = tables.create_table(cluster.ctx, {**config(), "tableName": "u"}, actor=ANN)
    assert made.table.typed == "u_OFFLINE"
    assert tables.list_tables(cluster.ctx) == ["t", "u"]
    assert outcomes("createTable") == ["done"]


def test_what_pinot_refuses_is_reported_and_on_record(cluster: PinotCluster) -> None:
    with pytest.raises(PinotAdminError):
        tables.create_table(cluster.ctx, {**config(), "tableName": "u"}, actor=ANN)
    assert outcomes("createTable") == ["refused"]
    with pytest.raises(StateConflict, match="exists already"):
        schemas.create_schema(cluster.ctx, SCHEMA, override=False, actor=ANN)
    with pytest.raises(InvalidInput, match="tableType"):
        tables.create_table(cluster.ctx, {"tableName": "u"}, actor=ANN)


def test_a_config_is_changed_with_keys_that_only_pinot_knows(cluster: PinotCluster) -> None:
    body = config(query={"timeoutMs": 5000})
    tables.update_table(cluster.ctx, "t", body, actor=ANN)
    assert cluster.rest.changes == ["PUT /tables/t_OFFLINE"]
    assert cluster.rest.bodies == [body]
    with pytest.raises(InvalidInput, match="address names"):
        tables.update_table(cluster.ctx, "other", body, actor=ANN)


def test_checks_are_written_into_the_config_through_the_controller(cluster: PinotCluster) -> None:
    check_settings.write_check_document(cluster.ctx, TABLE, {"checks": [{"kind": "rowCount", "min": 5}]}, actor=ANN)
    assert cluster.rest.changes == ["PUT /tables/t_OFFLINE"]
    assert read_check_document(cluster.ctx, TABLE)["checks"][0]["min"] == 5


@pytest.mark.parametrize(("version", "said"), [("0.11.0", "2"), ("1.2.0", None)])
def test_replicas_of_a_realtime_table_are_sent_to_an_old_version_in_its_own_word(
    tmp_path: Path, version: str, said: str | None
) -> None:
    cluster = PinotCluster(tmp_path, inside=PushWorld(tmp_path / "pushes"), version=version)
    body = {"tableName": "t", "tableType": "REALTIME", "segmentsConfig": {"timeColumnName": "day", "replication": "2"}}
    with suppress(PinotAdminError):  # what this Pinot says of the stream that is missing is not the matter here
        tables.create_table(cluster.ctx, body, actor=ANN)
    tables.update_table(cluster.ctx, "t_OFFLINE", config(), actor=ANN)
    assert [b["segmentsConfig"].get("replicasPerPartition") for b in cluster.rest.bodies] == [said, None]
    assert cluster.rest.bodies[0]["segmentsConfig"]["replication"] == "2"


@pytest.mark.parametrize("fault", [None, *LOST])
def test_a_table_is_dropped_once(cluster: PinotCluster, fault: Fault | None) -> None:
    if fault:
        cluster.rest.faults[1] = fault
    tables.delete_table(cluster.ctx, TABLE, retention="1d", actor=ANN)
    assert tables.list_tables(cluster.ctx) == []
    assert cluster.rest.params[0] == {"type": "offline", "retention": "1d"}
    with pytest.raises(NotFound):
        tables.delete_table(cluster.ctx, TABLE, actor=ANN)


def test_a_table_is_disabled_as_its_version_does_it(tmp_path: Path) -> None:
    new, old = PinotCluster(tmp_path / "n"), PinotCluster(tmp_path / "o", version="0.11.0")
    tables.set_table_enabled(new.ctx, TABLE, False, actor=ANN)
    assert new.rest.changes == ["PUT /tables/t/state"]
    assert new.rest.params == [{"state": "disable", "type": "offline"}]
    tables.set_table_enabled(old.ctx, TABLE, True, actor=ANN)
    assert old.rest.changes == []


def test_a_change_that_is_never_heard_of_is_failed_on_record(cluster: PinotCluster) -> None:
    schemas.create_schema(cluster.ctx, NEW, override=False, actor=ANN)
    cluster.rest.faults.update(dict.fromkeys(range(2, 9), Fault.LOSE_BEFORE))
    with pytest.raises(OutcomeUnknown):
        schemas.delete_schema(cluster.ctx, "u", actor=ANN)
    assert outcomes("deleteSchema") == ["failed"]


def test_a_schema_in_use_is_not_deleted_though_old_versions_would(cluster: PinotCluster) -> None:
    with pytest.raises(StateConflict, match="used by table t_OFFLINE"):
        schemas.delete_schema(cluster.ctx, "t", actor=ANN)
    assert cluster.rest.changes == []


def test_instances_and_settings_go_to_the_controller(cluster: PinotCluster) -> None:
    cluster.rest.routes["GET", "/cluster/configs"] = lambda request: httpx.Response(200, json={"a": "old"})
    instances.set_instance_state(cluster.ctx, "Server_a_1", is_enabled=False, actor=ANN)
    cluster_settings.set_settings(cluster.ctx, {"a": "b"}, actor=ANN)
    assert cluster.rest.changes == ["PUT /instances/Server_a_1/state", "POST /cluster/configs"]
    assert outcomes("setClusterConfigs") == ["done"]
    assert AuditEvent.objects.get(action="setClusterConfigs").detail["diff"] == [
        {"path": "a", "before": "old", "after": "b"}
    ]
