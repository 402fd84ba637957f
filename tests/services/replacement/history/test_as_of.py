"""Queries as of a snapshot read exactly its segments, on real servers, or are refused: never a mixture."""

from __future__ import annotations

from typing import Any

import pytest

from segments.errors import InvalidInput, NotFound
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import Cluster, Snapshot
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.replacement.history.as_of import query_as_of, snapshot_named
from segments.services.replacement.protocol import end_replace
from segments.store import paths
from tests.dataplane.world import World
from tests.services.replacement.test_snapshot_checks import ANN, T, open_entry
from tests.services.replacement.test_snapshot_checks import ctx as ctx
from tests.services.replacement.test_snapshot_checks import world as world

pytestmark = pytest.mark.django_db

COUNT = "select v, count(*) from t group by v order by v"


@pytest.fixture
def switched(world: World, ctx: Context) -> str:
    """Snapshot 1 is segment old of 10 rows, 2 is segment new of 5."""
    mirror = ClusterFollower(ctx.store, Cluster.objects.create(name=ctx.cluster))
    mirror.sync_all()
    entry = open_entry(world, ctx)
    end_replace(ctx, T, entry, actor=ANN)
    mirror.sync_all()
    return entry


def rows(ctx: Context, sql: str) -> Any:
    answer = query_as_of(ctx, sql, {}, snapshot_named(sql, {}))
    assert not answer.get("exceptions"), answer
    return answer["resultTable"]["rows"]


@pytest.mark.usefixtures("switched")
def test_each_snapshot_is_read_with_exactly_its_rows(ctx: Context) -> None:
    assert [rows(ctx, f"set snapshot={n}; {COUNT}") for n in (1, 2)] == [[["old", 10]], [["new", 5]]]
    assert rows(ctx, f"{COUNT} option(snapshot=1)") == [["old", 10]]
    assert rows(ctx, f"{COUNT} option(snapshot='1')") == [["old", 10]]


def test_the_new_side_of_an_open_replacement_is_read_before_the_switch(world: World, ctx: Context) -> None:
    entry = open_entry(world, ctx)
    assert rows(ctx, f"set snapshot='{entry}:to'; {COUNT}") == [["new", 5]]
    assert rows(ctx, f"set snapshot='{entry}:from'; {COUNT}") == [["old", 10]]
    assert rows(ctx, f"set snapshot=current; {COUNT}") == [["old", 10]]


@pytest.mark.usefixtures("switched")
def test_what_cannot_be_read_whole_is_refused_with_what_to_do(ctx: Context) -> None:
    for sql, refusal in (
        (f"set snapshot=9; {COUNT}", NotFound),
        (f"set snapshot=nothing; {COUNT}", NotFound),
        ("set snapshot=1; select * from nowhere", NotFound),
        ("set snapshot=1; select * from t a join t b on a.v = b.v", InvalidInput),
    ):
        with pytest.raises(refusal):
            rows(ctx, sql)


@pytest.mark.parametrize(
    ("sql", "options", "name"),
    [
        (COUNT, {}, ""),
        (f"set snapshot = 7; {COUNT}", {}, "7"),
        (f"{COUNT} option(SNAPSHOT=7, timeoutMs=5)", {}, "7"),
        (COUNT, {"snapshot": "3"}, "3"),
        ("select snapshot from t", {}, ""),
        ("select 'set snapshot=3' from t", {}, ""),
        ("set snapshot", {}, ""),
    ],
)
def test_the_snapshot_is_named_in_the_text_or_in_the_options(sql: str, options: dict[str, str], name: str) -> None:
    assert snapshot_named(sql, options) == name


def test_a_hybrid_tables_raw_name_is_refused(world: World, ctx: Context) -> None:
    config = ctx.store.get(paths.table_config(T.typed))
    assert config is not None
    ctx.store.create(paths.table_config(TableName(T.raw, "REALTIME").typed), config.record)
    with pytest.raises(InvalidInput, match="hybrid"):
        rows(ctx, f"set snapshot=1; {COUNT}")
    assert Snapshot.objects.count() == 0
