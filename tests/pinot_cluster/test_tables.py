"""Tables, schemas, instances and settings of a Pinot cluster go through its controller, are on record, and are
verified when the answer is lost.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from segments.errors import NotFound, OutcomeUnknown, PinotAdminError
from segments.models import AuditEvent
from segments.services.replacement.checks import check_settings
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


def test_a_config_and_its_checks_are_changed_by_the_call_for_it_with_keys_that_only_pinot_knows(
    cluster: PinotCluster,
) -> None:
    body = config(query={"timeoutMs": 5000})
    tables.update_table(cluster.ctx, "t", body, actor=ANN)
    check_settings.write_check_document(cluster.ctx, TABLE, {"checks": [{"kind": "rowCount", "min": 5}]}, actor=ANN)
    assert cluster.rest.changes == ["PUT /tables/t_OFFLINE"] * 2
    assert cluster.rest.bodies[0] == body


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
