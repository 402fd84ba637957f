"""Tables, schemas and their removal on every kind of cluster: the same change, the same refusal, the same record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from segments.errors import InvalidInput, NotFound, StateConflict
from segments.models import AuditEvent
from segments.names import OFFLINE, TableName
from segments.services.core.context import Context
from segments.services.replacement.checks import check_settings
from segments.services.tables import schemas, tables
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.push.pushing import SCHEMA, PushWorld, config
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Kind:
    """Table ``raw`` with a schema, and the context that drives its cluster."""

    ctx: Context
    raw: str = TABLE.raw
    #: What was sent to a simulated controller so far.
    sent: Sequence[str] = ()

    @property
    def table(self) -> TableName:
        return TableName(self.raw, OFFLINE)

    @property
    def second(self) -> str:
        """The name of a table that is not there yet."""
        return f"{self.raw}_u"

    def config(self, name: str = "", **more: Any) -> dict[str, Any]:
        return {**config(**more), "tableName": name or self.raw}

    def schema(self, name: str = "", *columns: dict[str, str]) -> dict[str, Any]:
        dimensions = [*SCHEMA["dimensionFieldSpecs"], *columns]
        return {**SCHEMA, "schemaName": name or self.raw, "dimensionFieldSpecs": dimensions}

    def tables(self) -> list[str]:
        """Ours of those that are there."""
        return [name for name in tables.list_tables(self.ctx) if name in (self.raw, self.second)]


@pytest.fixture(params=["embedded", "pinot"])
def simulated(request: Any, tmp_path: Path) -> Kind:
    """In memory."""
    inside = PushWorld(tmp_path / "pushes")
    if request.param == "embedded":
        return Kind(inside.ctx)
    pinot = PinotCluster(tmp_path, inside=inside)
    return Kind(pinot.ctx, sent=pinot.rest.changes)


@pytest.fixture
def kind(simulated: Kind) -> Kind:
    """The same for tests that a real Pinot can run, too (``tests/real_pinot/suites``)."""
    return simulated


def outcomes(action: str, kind: Kind) -> list[str]:
    found = AuditEvent.objects.filter(action=action, cluster=kind.ctx.cluster).order_by("pk")
    return list(found.values_list("outcome", flat=True))


def test_a_table_is_made_once_and_a_refusal_is_on_record(kind: Kind) -> None:
    schemas.create_schema(kind.ctx, kind.schema(kind.second), override=False, actor=ANN)
    body = kind.config(kind.second)
    assert tables.create_table(kind.ctx, body, actor=ANN).table.typed == f"{kind.second}_OFFLINE"
    with pytest.raises(StateConflict, match="exists already"):
        tables.create_table(kind.ctx, body, actor=ANN)
    assert kind.tables() == [kind.raw, kind.second]
    assert outcomes("createTable", kind) == ["done", "refused"]


def test_a_table_needs_its_schema_first(simulated: Kind) -> None:
    """Not on 0.11.0, which wants a schema for REALTIME tables only, so that whoever has such a cluster can go on."""
    with pytest.raises((InvalidInput, NotFound)):
        tables.create_table(simulated.ctx, simulated.config(simulated.second), actor=ANN)
    assert simulated.tables() == [simulated.raw]
    assert outcomes("createTable", simulated) == ["refused"]


def test_a_config_is_changed_and_the_difference_is_on_record(kind: Kind) -> None:
    tables.update_table(kind.ctx, kind.raw, kind.config(query={"timeoutMs": 5000}), actor=ANN)
    with pytest.raises(InvalidInput, match="address names"):
        tables.update_table(kind.ctx, "other", kind.config(), actor=ANN)
    event = AuditEvent.objects.get(action="updateTable", cluster=kind.ctx.cluster)
    assert (event.outcome, event.target) == ("done", kind.table.typed)
    # A Pinot names what it added itself, too.
    assert any(entry["path"].startswith("query") for entry in event.detail["diff"])


def test_a_schema_grows_and_is_not_deleted_while_a_table_uses_it(kind: Kind) -> None:
    with pytest.raises(StateConflict, match="exists already"):
        schemas.create_schema(kind.ctx, kind.schema(), override=False, actor=ANN)
    wider = kind.schema("", {"name": "extra", "dataType": "STRING"})
    schemas.update_schema(kind.ctx, kind.raw, wider, actor=ANN)
    assert "extra" in schemas.read_schema(kind.ctx, kind.raw).by_name
    with pytest.raises(StateConflict, match=f"used by table {kind.table.typed}"):
        schemas.delete_schema(kind.ctx, kind.raw, actor=ANN)
    assert outcomes("deleteSchema", kind) == ["refused"]
    assert not [change for change in kind.sent if change.startswith("DELETE")]


def test_a_config_without_a_type_is_refused(kind: Kind) -> None:
    with pytest.raises(InvalidInput, match="tableType"):
        tables.create_table(kind.ctx, {"tableName": kind.second}, actor=ANN)
    assert kind.tables() == [kind.raw]


def test_checks_are_written_into_the_config_on_one_record(kind: Kind) -> None:
    check_settings.write_check_document(kind.ctx, kind.table, {"checks": [{"kind": "rowCount", "min": 5}]}, actor=ANN)
    assert check_settings.read_check_document(kind.ctx, kind.table)["checks"][0]["min"] == 5
    assert (outcomes("updateChecks", kind), outcomes("updateTable", kind)) == (["done"], [])


def test_a_dropped_table_is_gone_and_dropping_it_again_is_refused_on_record(kind: Kind) -> None:
    tables.delete_table(kind.ctx, kind.table, retention="1d", actor=ANN)
    assert kind.tables() == []
    with pytest.raises(NotFound):
        tables.delete_table(kind.ctx, kind.table, actor=ANN)
    assert outcomes("deleteTable", kind) == ["done", "refused"]
