"""Creating and dropping tables as use cases: born in one transaction, dropped so that a cut drop is finished by asking
again.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.errors import InvalidInput, NotFound, StateConflict
from segments.services.core.context import Context
from segments.services.segments import deletion
from segments.services.segments.uploads import upload_tar
from segments.services.tables import schemas, tables
from segments.services.tables.tables import delete_table
from segments.store import paths
from tests.api.cluster import ANN, TABLE, ApiCluster, config_of, schema_of
from tests.faults.faulty import Cut, Fault, FaultyStore, Plan

pytestmark = pytest.mark.django_db


def made(folder: Path) -> ApiCluster:
    cluster = ApiCluster(folder)
    schemas.create_schema(cluster.ctx, schema_of(), override=False, actor=ANN)
    return cluster


def over(cluster: ApiCluster, store: FaultyStore) -> Context:
    return Context(**{**cluster.ctx.__dict__, "store": store})


def left(cluster: ApiCluster) -> list[str]:
    places = (
        paths.table_config,
        paths.ideal_state,
        paths.external_view,
        paths.lineage,
        paths.segments,
        paths.pending_deletions,
    )
    found = [
        p(TABLE.typed)
        for p in (*places, paths.routing_acks, paths.upload_locks)
        if cluster.memory.exists(p(TABLE.typed)) is not None
    ]
    return [*found, *cluster.record(paths.BROKER_RESOURCE).maps, *cluster.files]


def test_a_table_is_born_in_one_write(tmp_path: Path) -> None:
    cluster = made(tmp_path / "c")
    store = FaultyStore(cluster.memory)
    tables.create_table(over(cluster, store), config_of(), actor=ANN)
    assert [w.path for w in store.writes[0]] == [
        paths.schema("t"),
        paths.table_config(TABLE.typed),
        paths.ideal_state(TABLE.typed),
        paths.BROKER_RESOURCE,
    ]
    assert len(store.writes) == 1


def test_two_that_create_the_same_table_get_one_table_and_one_refusal(tmp_path: Path) -> None:
    cluster = made(tmp_path / "c")
    store = FaultyStore(
        cluster.memory, Plan(before={1: lambda: tables.create_table(cluster.ctx, config_of(), actor=ANN)})
    )
    with pytest.raises(StateConflict, match="exists already"):
        tables.create_table(over(cluster, store), config_of(replication=2), actor=ANN)
    assert cluster.record(paths.ideal_state(TABLE.typed)).simple["REPLICAS"] == "1"


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER])
def test_a_drop_cut_anywhere_is_finished_by_asking_again(tmp_path: Path, fault: Fault) -> None:
    for number in range(1, 30):
        cluster = made(tmp_path / f"{fault.name}-{number}")
        tables.create_table(cluster.ctx, config_of(), actor=ANN)
        for segment in ("a", "b"):
            upload_tar(cluster.ctx, TABLE, cluster.build(segment), actor=ANN)
        deletion.remove_segments(cluster.ctx, TABLE, ["b"], actor=ANN)
        store = FaultyStore(cluster.memory, Plan({number: fault}))
        try:
            delete_table(over(cluster, store), TABLE, actor=ANN)
        except Cut:
            assert left(cluster) == [] or cluster.memory.exists(paths.table_config(TABLE.typed)) is not None
        else:
            return
        if left(cluster):
            with pytest.raises(StateConflict):
                tables.create_table(cluster.ctx, config_of(), actor=ANN)
            delete_table(cluster.ctx, TABLE, actor=ANN)
        assert left(cluster) == []
        with pytest.raises(NotFound):
            delete_table(cluster.ctx, TABLE, actor=ANN)
    pytest.fail("the drop made more writes than expected")


def test_a_schema_is_not_deleted_under_a_table_that_is_just_created(tmp_path: Path) -> None:
    cluster = made(tmp_path / "c")
    store = FaultyStore(
        cluster.memory, Plan(before={1: lambda: tables.create_table(cluster.ctx, config_of(), actor=ANN)})
    )
    with pytest.raises(StateConflict, match="t_OFFLINE"):
        schemas.delete_schema(over(cluster, store), "t", actor=ANN)


def test_a_table_is_not_created_over_a_schema_that_is_just_deleted(tmp_path: Path) -> None:
    cluster = made(tmp_path / "c")
    store = FaultyStore(cluster.memory, Plan(before={1: lambda: schemas.delete_schema(cluster.ctx, "t", actor=ANN)}))
    with pytest.raises(InvalidInput, match="no schema"):
        tables.create_table(over(cluster, store), config_of(), actor=ANN)
    assert tables.list_tables(cluster.ctx) == []
