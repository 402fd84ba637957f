"""Rows per day and the values of a column of two snapshots are counted from exactly their segments, on real servers."""

from __future__ import annotations

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import from_record, parse_table_config
from segments.errors import InvalidInput, NotFound
from segments.services.core.context import Context
from segments.services.replacement import values_diff
from segments.services.replacement.values_diff import NullRows, ValueCount, compare_column, compare_days, compare_nulls
from segments.services.tables.schemas import read_schema
from segments.store import paths
from tests.dataplane.world import World
from tests.services.replacement.history.test_as_of import switched as switched
from tests.services.replacement.test_snapshot_checks import T
from tests.services.replacement.test_snapshot_checks import ctx as ctx
from tests.services.replacement.test_snapshot_checks import world as world

pytestmark = pytest.mark.django_db


def put(world: World, path: str, record: ZNRecord) -> None:
    node = world.store.get(path)
    assert node is not None
    world.store.replace(path, record, node.version)


@pytest.fixture
def dated(world: World) -> None:
    """Column n counts days since 1970 and is the time column."""
    days = {"name": "n", "dataType": "INT", "format": "1:DAYS:EPOCH", "granularity": "1:DAYS"}
    schema = {"schemaName": "t", "dimensionFieldSpecs": [{"name": "v", "dataType": "STRING"}]}
    put(world, paths.schema("t"), parse_schema({**schema, "dateTimeFieldSpecs": [days]}).to_record())
    node = world.store.get(paths.table_config(T.typed))
    assert node is not None
    assert node.record is not None
    body = from_record(node.record).body
    timed = {**body, "segmentsConfig": {**body["segmentsConfig"], "timeColumnName": "n"}}
    put(world, paths.table_config(T.typed), parse_table_config(timed).to_record())


@pytest.mark.usefixtures("switched")
def test_a_column_has_its_most_frequent_values_on_both_sides(ctx: Context) -> None:
    found = compare_column(ctx, T, "1", "2", "v")
    assert found.before is not None
    assert found.after is not None
    assert (found.before.rows, found.before.nulls, found.before.top) == (10, 0, [ValueCount("old", 10)])
    assert (found.after.rows, found.after.top) == (5, [ValueCount("new", 5)])
    assert len((compare_column(ctx, T, "1", "2", "n").before or found.before).top) == 5


@pytest.mark.usefixtures("switched", "dated")
def test_days_are_counted_on_both_sides_and_dates_are_dates(ctx: Context) -> None:
    found = compare_days(ctx, T, "1", "2")
    assert found.column == "n"
    assert len(found.days) == 10
    assert [(d.day, d.before, d.after) for d in (found.days[0], found.days[9])] == [
        ("1970-01-01", 1, 1),
        ("1970-01-10", 1, 0),
    ]
    column = compare_column(ctx, T, "1", "2", "n").before
    assert column is not None
    assert column.top[0].value == "1970-01-01"


@pytest.mark.usefixtures("switched")
def test_a_table_without_a_time_column_has_no_days(ctx: Context) -> None:
    assert compare_days(ctx, T, "1", "2").days == []


def lose(world: World, segment: str) -> None:
    """Neither on servers nor kept."""
    world.unassign(segment)
    world.store.delete(paths.segment(T.typed, segment))


@pytest.mark.usefixtures("switched", "dated")
def test_a_side_that_left_the_servers_says_so_and_the_other_is_counted(world: World, ctx: Context) -> None:
    lose(world, "old")
    found = compare_column(ctx, T, "1", "2", "v")
    assert found.before is None
    assert "neither on servers nor kept" in found.why_before
    assert found.after is not None
    assert compare_days(ctx, T, "1", "2").days[0].before is None


@pytest.mark.usefixtures("switched")
def test_nulls_of_all_columns_are_counted_on_both_sides_and_those_without_left_out(
    world: World, ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values_diff, "_AT_ONCE", 1)
    found = compare_nulls(ctx, T, "1", "2")
    assert (found.rows, found.columns, found.problems) == ((10, 5), [NullRows("n", 1, 1)], []), "0 is the default of n"
    body = read_schema(ctx, "t").body
    put(world, paths.schema("t"), parse_schema({**body, "enableColumnBasedNullHandling": True}).to_record())
    assert compare_nulls(ctx, T, "1", "2").columns == [], "nulls are recorded, and there are none"
    put(world, paths.schema("t"), parse_schema(body).to_record())
    lose(world, "old")
    found = compare_nulls(ctx, T, "1", "2")
    assert (found.rows, found.columns, len(found.problems)) == ((None, 5), [NullRows("n", None, 1)], 1)


@pytest.mark.usefixtures("switched")
def test_what_is_unknown_is_refused(ctx: Context) -> None:
    with pytest.raises(NotFound):
        compare_column(ctx, T, "9", "2", "v")
    with pytest.raises(InvalidInput, match="no column"):
        compare_column(ctx, T, "1", "2", 'v" or 1=1 --')
