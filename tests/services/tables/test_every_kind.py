"""Tables, schemas and their removal on every kind of cluster: the same change, the same refusal, the same record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.errors import InvalidInput, NotFound, StateConflict
from segments.models import AuditEvent
from segments.services.core.context import Context
from segments.services.replacement.checks import check_settings
from segments.services.tables import schemas, tables
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.push.pushing import SCHEMA, PushWorld, config
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db

NEW = {**SCHEMA, "schemaName": "u"}
WIDER = {**SCHEMA, "dimensionFieldSpecs": [*SCHEMA["dimensionFieldSpecs"], {"name": "extra", "dataType": "STRING"}]}


@pytest.fixture(params=["embedded", "pinot"])
def ctx(request: Any, tmp_path: Path) -> Context:
    """Table t with a schema."""
    inside = PushWorld(tmp_path / "pushes")
    return inside.ctx if request.param == "embedded" else PinotCluster(tmp_path, inside=inside).ctx


def outcomes(action: str, ctx: Context) -> list[str]:
    found = AuditEvent.objects.filter(action=action, cluster=ctx.cluster).order_by("pk")
    return list(found.values_list("outcome", flat=True))


def test_a_table_is_made_once_and_a_refusal_is_on_record(ctx: Context) -> None:
    body = {**config(), "tableName": "u"}
    with pytest.raises((InvalidInput, NotFound)):
        tables.create_table(ctx, body, actor=ANN)
    schemas.create_schema(ctx, NEW, override=False, actor=ANN)
    assert tables.create_table(ctx, body, actor=ANN).table.typed == "u_OFFLINE"
    assert tables.list_tables(ctx) == ["t", "u"]
    assert outcomes("createTable", ctx) == ["refused", "done"]


def test_a_config_is_changed_and_the_difference_is_on_record(ctx: Context) -> None:
    tables.update_table(ctx, "t", config(query={"timeoutMs": 5000}), actor=ANN)
    with pytest.raises(InvalidInput, match="address names"):
        tables.update_table(ctx, "other", config(), actor=ANN)
    event = AuditEvent.objects.get(action="updateTable", cluster=ctx.cluster)
    assert (event.outcome, event.target) == ("done", TABLE.typed)
    assert "query" in [entry["path"] for entry in event.detail["diff"]]  # a Pinot names what it added itself, too


def test_a_schema_grows_and_is_not_deleted_while_a_table_uses_it(ctx: Context) -> None:
    with pytest.raises(StateConflict, match="exists already"):
        schemas.create_schema(ctx, SCHEMA, override=False, actor=ANN)
    schemas.update_schema(ctx, "t", WIDER, actor=ANN)
    assert "extra" in schemas.read_schema(ctx, "t").by_name
    with pytest.raises(StateConflict, match="used by table t_OFFLINE"):
        schemas.delete_schema(ctx, "t", actor=ANN)
    assert outcomes("deleteSchema", ctx) == ["refused"]


def test_checks_are_written_into_the_config_on_one_record(ctx: Context) -> None:
    check_settings.write_check_document(ctx, TABLE, {"checks": [{"kind": "rowCount", "min": 5}]}, actor=ANN)
    assert check_settings.read_check_document(ctx, TABLE)["checks"][0]["min"] == 5
    assert (outcomes("updateChecks", ctx), outcomes("updateTable", ctx)) == (["done"], [])


def test_a_dropped_table_is_gone_and_dropping_it_again_is_refused_on_record(ctx: Context) -> None:
    tables.delete_table(ctx, TABLE, retention="1d", actor=ANN)
    assert tables.list_tables(ctx) == []
    with pytest.raises(NotFound):
        tables.delete_table(ctx, TABLE, actor=ANN)
    assert outcomes("deleteTable", ctx) == ["done", "refused"]
