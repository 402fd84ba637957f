"""A table's schema and config are changed on the version that was read, and every version is kept, on every kind of
cluster.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import InvalidInput, NotFound, StateConflict
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import Cluster, ConfigVersion
from segments.services.core.context import Actor
from segments.services.replacement.checks import check_settings
from segments.services.tables import tables
from segments.services.tables.edits.documents import read_documents
from segments.services.tables.edits.preview import preview_edit
from segments.services.tables.edits.reverting import edit_of
from segments.services.tables.edits.saving import save_edit
from segments.services.tables.edits.versions import body_of, changes_of, history_of
from segments.store.records.instances import parse_config
from tests.services.tables.test_every_kind import Kind, simulated
from tests.services.world import ANN

__all__ = ["simulated"]
BOB = Actor("bob", "another reason")
pytestmark = pytest.mark.django_db


@pytest.fixture
def kind(simulated: Kind) -> Kind:  # the fixture of the other suite
    return simulated


def config_with(kind: Kind, **more: Any) -> dict[str, Any]:
    return {**read_documents(kind.ctx, kind.table).config, **more}


def schema_with(kind: Kind, *columns: dict[str, Any]) -> dict[str, Any]:
    schema = read_documents(kind.ctx, kind.table).schema
    return {**schema, "dimensionFieldSpecs": [*schema["dimensionFieldSpecs"], *columns]}


def save(kind: Kind, actor: Actor = ANN, expected: str = "", **documents: Any) -> None:
    version = expected or read_documents(kind.ctx, kind.table).version
    save_edit(kind.ctx, kind.table, **documents, expected=version, actor=actor)


def versions(kind: Kind) -> list[tuple[str, str, str]]:
    """(document, who, path of the first difference), newest first."""
    found = history_of(kind.ctx, kind.table).order_by("-pk")
    return [(v.document, v.actor, next((d.path for d in changes_of(v)), "")) for v in found]


def test_a_preview_says_what_differs_and_what_follows_and_writes_nothing(kind: Kind) -> None:
    before = read_documents(kind.ctx, kind.table)
    found = preview_edit(
        kind.ctx, kind.table, config_with(kind, quota={"storage": "1G"}),
        schema_with(kind, {"name": "extra", "dataType": "STRING", "defaultNullValue": "x"}),
    )  # fmt: skip
    assert not found.refusals
    assert next((d.document, d.path) for d in found.differences) == ("schema", "columns.extra")
    assert any(d.path.startswith("quota") and "1G" in str(d.after) for d in found.differences)
    assert any("Column extra is new" in sentence for sentence in found.consequences)
    assert "Quota: it holds at once." in found.consequences
    assert read_documents(kind.ctx, kind.table) == before
    assert not list(kind.sent)


def test_a_preview_warns_of_more_replicas_than_servers(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    server = parse_config(ZNRecord("Server_a_1", lists={"TAG_LIST": ["DefaultTenant_OFFLINE"]}))
    known = {"Server_a_1": server, "Server_b_1": replace(server, tags=("other_OFFLINE",))}
    monkeypatch.setattr("segments.services.tables.replica_warnings.instance_configs", lambda _: known)
    wanted = config_with(kind, segmentsConfig={"replication": "90"})
    found = preview_edit(kind.ctx, kind.table, wanted)
    assert not found.refusals
    warning = next(
        w for w in found.warnings if "'segmentsConfig.replication' is 90, but only 1 enabled server has" in w
    )
    assert ("rebalance" in warning) == kind.ctx.engine.offers.own_processes
    assert ("Pinot refuses" in warning) != kind.ctx.engine.offers.own_processes


def test_a_saved_edit_is_a_version_with_who_and_why(kind: Kind) -> None:
    save(kind, config=config_with(kind, quota={"storage": "1G"}))
    newest = history_of(kind.ctx, kind.table).order_by("-pk")[0]
    assert (newest.document, newest.actor, newest.reason) == ("config", ANN.name, ANN.reason)
    body = body_of(ConfigVersion.objects.get(pk=newest.pk))
    assert body is not None
    assert body["quota"]["storage"] == "1G"


def test_of_two_edits_of_one_version_the_second_is_refused_and_says_whose_the_first_is(kind: Kind) -> None:
    read = read_documents(kind.ctx, kind.table)
    save(kind, BOB, config=config_with(kind, quota={"storage": "1G"}))
    with pytest.raises(StateConflict, match=f"changed by {BOB.name} since you read"):
        save(kind, expected=read.version, config={**read.config, "quota": {"storage": "2G"}})
    with pytest.raises(StateConflict, match="since you read it"):
        tables.update_table(kind.ctx, kind.raw, read.config, actor=ANN, expected=read.config_version)
    assert read_documents(kind.ctx, kind.table).config["quota"]["storage"] == "1G"


def test_columns_that_go_or_change_are_refused_each_by_its_name(kind: Kind) -> None:
    schema = schema_with(kind)
    gone, changed, *rest = schema["dimensionFieldSpecs"]
    other = {**changed, "dataType": "STRING" if changed["dataType"] != "STRING" else "INT"}
    found = preview_edit(kind.ctx, kind.table, schema={**schema, "dimensionFieldSpecs": [other, *rest]})
    assert {r.field for r in found.refusals} == {f"schema.{gone['name']}", f"schema.{changed['name']}"}
    with pytest.raises(InvalidInput, match="can only be added"):
        save(kind, schema={**schema, "dimensionFieldSpecs": [other, *rest]})
    assert not list(kind.sent)


def test_a_new_column_and_a_config_that_names_it_are_saved_together(kind: Kind) -> None:
    config = config_with(kind)
    index = {**(config.get("tableIndexConfig") or {}), "noDictionaryColumns": ["extra"]}
    wider = schema_with(kind, {"name": "extra", "dataType": "STRING"})
    save(kind, config={**config, "tableIndexConfig": index}, schema=wider)
    now = read_documents(kind.ctx, kind.table)
    assert "extra" in str(now.schema)
    assert now.config["tableIndexConfig"]["noDictionaryColumns"] == ["extra"]


def test_an_edit_that_changes_nothing_is_refused(kind: Kind) -> None:
    with pytest.raises(InvalidInput, match="Nothing differs"):
        save(kind, config=config_with(kind))


def test_an_earlier_version_comes_back_as_an_ordinary_edit(kind: Kind) -> None:
    save(kind, config=config_with(kind, quota={"storage": "1G"}))
    first = history_of(kind.ctx, kind.table).order_by("-pk")[0]
    save(kind, config=config_with(kind, quota={"storage": "2G"}))
    save(kind, BOB, **edit_of(kind.ctx, kind.table, first.pk))
    assert read_documents(kind.ctx, kind.table).config["quota"]["storage"] == "1G"
    assert versions(kind)[0][:2] == ("config", BOB.name)


def test_a_version_of_another_table_is_not_found(kind: Kind) -> None:
    other = ConfigVersion.objects.create(
        cluster=kind.ctx.cluster, document="config", name="other_OFFLINE", number=1, at=timezone.now(), version="x",
        body=b"", changes=b"",
    )  # fmt: skip
    with pytest.raises(NotFound, match="no version"):
        edit_of(kind.ctx, kind.table, other.pk)


def test_changes_of_checks_and_a_dropped_table_are_versions_too(kind: Kind) -> None:
    check_settings.write_check_document(kind.ctx, kind.table, {"checks": [{"kind": "rowCount", "min": 5}]}, actor=ANN)
    tables.delete_table(kind.ctx, kind.table, retention="1d", actor=BOB)
    newest, before = history_of(kind.ctx, kind.table).order_by("-pk")[:2]
    assert (newest.version, newest.actor, before.actor) == ("", BOB.name, ANN.name)
    with pytest.raises(StateConflict, match="it was deleted"):
        edit_of(kind.ctx, kind.table, newest.pk)


def test_the_mirror_keeps_what_was_changed_elsewhere_and_nothing_twice(kind: Kind) -> None:
    cluster = Cluster.objects.create(name=kind.ctx.cluster)
    if kind.sent is not None and not kind.ctx.engine.offers.own_processes:
        cluster.kind = Cluster.Kind.PINOT
        cluster.save()
    mirror = ClusterFollower(kind.ctx.store, cluster)
    mirror.sync_all()
    seen = versions(kind)
    assert sorted(v[0] for v in seen) == ["config", "schema"]
    save(kind, config=config_with(kind, quota={"storage": "1G"}))
    mirror.sync_all()
    assert len(versions(kind)) == 3
    ConfigVersion.objects.update(at=timezone.now() - timedelta(minutes=1))
    elsewhere = kind.ctx.engine.tables.parse_config(config_with(kind, quota={"storage": "3G"}))
    kind.ctx.engine.tables.update_table(kind.ctx, elsewhere, {})
    mirror.sync_all()
    mirror.sync_all()
    newest = versions(kind)
    assert len(newest) == 4
    assert newest[0][:2] == ("config", "")


def test_what_the_mirror_saw_first_gets_its_name_from_who_did_it(kind: Kind) -> None:
    save(kind, config=config_with(kind, quota={"storage": "1G"}))
    ConfigVersion.objects.update(actor="", reason="")
    from segments.services.tables.edits.versions import note_config  # only here: the note that came late

    note_config(kind.ctx, kind.table, BOB)
    assert [v[1] for v in versions(kind)] == [BOB.name]
