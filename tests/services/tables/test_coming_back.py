"""A dropped table comes back with the rows that queries saw last, or says what stands in the way and makes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.errors import NotFound, StateConflict
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import AuditEvent, Cluster
from segments.services.replacement.protocol import end_replace, start_replace
from segments.services.tables import schemas, tables
from segments.services.tables.coming_back import bring_back, dropped_tables, plan_coming_back
from segments.store import paths
from tests.services.replacement.undo.serving import ServingWorld
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ServingWorld:
    """Table ``t``: segment a was replaced by b and c. No server is there to let go of its segments."""
    monkeypatch.setattr("segments.clusters.embedded.tables.removal._LET_GO_S", 0.0)
    world = ServingWorld(tmp_path / "store")
    columns = [{"name": "id", "dataType": "INT"}]
    schemas.create_schema(world.ctx, {"schemaName": "t", "dimensionFieldSpecs": columns}, override=False, actor=ANN)
    tables.update_table(world.ctx, TABLE.raw, config_of(world), actor=ANN)
    world.upload("a")
    entry = start_replace(world.ctx, TABLE, ["a"], ["b", "c"], actor=ANN)
    world.upload("b", "c")
    end_replace(world.ctx, TABLE, entry, actor=ANN)
    return world


@pytest.fixture
def mirror(world: ServingWorld) -> ClusterFollower:
    follower = ClusterFollower(world.memory, Cluster.objects.create(name=world.ctx.cluster))
    follower.sync_all()
    return follower


def config_of(world: ServingWorld) -> dict[str, object]:
    from segments.services.tables.table_record import read_table_config

    return read_table_config(world.ctx, TABLE).body


def visible(world: ServingWorld) -> set[str]:
    from segments.services.replacement.lineage_record import observe

    seen = observe(world.ctx, TABLE)
    return set(seen.lineage.visible(seen.ideal.maps))


def test_queries_see_the_rows_that_they_saw_last(world: ServingWorld, mirror: ClusterFollower) -> None:
    config = config_of(world)
    tables.delete_table(world.ctx, TABLE, retention="7d", actor=ANN)
    mirror.sync_all()
    assert [r.name for r in dropped_tables(world.ctx.cluster)] == [TABLE.typed]
    found = plan_coming_back(world.ctx, TABLE)
    assert (found.blockers, found.segments, found.deleted_by) == ([], 2, ANN.name)
    bring_back(world.ctx, TABLE, actor=ANN)
    assert visible(world) == {"b", "c"}
    assert config_of(world) == config
    assert dropped_tables(world.ctx.cluster) == []
    assert AuditEvent.objects.get(action="restoreTable").outcome == "done"


def test_files_that_are_gone_are_named_and_nothing_is_made(world: ServingWorld, mirror: ClusterFollower) -> None:
    tables.delete_table(world.ctx, TABLE, retention="0d", actor=ANN)
    mirror.sync_all()
    assert "The files of 2 segments are gone" in " ".join(plan_coming_back(world.ctx, TABLE).blockers)
    with pytest.raises(StateConflict, match="are gone"):
        bring_back(world.ctx, TABLE, actor=ANN)
    assert world.ctx.store.exists(paths.table_config(TABLE.typed)) is None


def test_a_table_that_is_there_or_was_never_deleted_does_not_come_back(
    world: ServingWorld, mirror: ClusterFollower
) -> None:
    with pytest.raises(NotFound, match="No deletion"):
        plan_coming_back(world.ctx, TABLE)
    config = config_of(world)
    tables.delete_table(world.ctx, TABLE, retention="7d", actor=ANN)
    tables.create_table(world.ctx, config, actor=ANN)
    with pytest.raises(NotFound, match="No deletion"):
        bring_back(world.ctx, TABLE, actor=ANN)


def test_without_its_schema_it_says_so(world: ServingWorld, mirror: ClusterFollower) -> None:
    tables.delete_table(world.ctx, TABLE, retention="7d", actor=ANN)
    schemas.delete_schema(world.ctx, TABLE.raw, actor=ANN)
    assert any("schema" in b for b in plan_coming_back(world.ctx, TABLE).blockers)
