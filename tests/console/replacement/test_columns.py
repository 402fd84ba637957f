"""Columns of two snapshots: schema changes in words, dates as dates, bars of one scale."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from segments.console.presenters.history.columns import ColumnLine, column_lines
from segments.domain.segments.column_profile import ColumnProfile
from segments.domain.tables.schema import parse_schema
from segments.services.replacement.rollback_preview import SnapshotSummary
from segments.services.replacement.snapshot_diff import ColumnDiff, Side, SnapshotDiff
from tests.factories import make_table
from tests.services.world import World

SCHEMA = parse_schema(
    {
        "schemaName": "t",
        "dimensionFieldSpecs": [{"name": "city", "dataType": "STRING"}, {"name": "seen", "dataType": "TIMESTAMP"}],
        "dateTimeFieldSpecs": [
            {"name": "day", "dataType": "INT", "format": "1:DAYS:EPOCH", "granularity": "1:DAYS"},
        ],
    }
)


def column(name: str, *values: str, data_type: str = "STRING", count: tuple[int, int] = (4, 4)) -> ColumnProfile:
    low, high = (values[0], values[-1]) if values else (None, None)
    return ColumnProfile(name, data_type, data_type, 1, low, high, *count)


def lines(*columns: ColumnDiff) -> list[ColumnLine]:
    side = Side("1", SnapshotSummary(1, 10, 100, None, None), ())
    return column_lines(SnapshotDiff("t_OFFLINE", side, side, (), (), (), 0, columns, ()), SCHEMA.by_name)


def test_what_changed_in_the_schema_comes_first_in_words() -> None:
    same = ColumnDiff("city", column("city", "a"), column("city", "b"))
    shown = lines(
        same,
        ColumnDiff("new", None, column("new", "a")),
        ColumnDiff("n", column("n", "1", data_type="INT"), column("n", "1", data_type="LONG")),
        ColumnDiff("old", column("old", "a"), None),
    )
    assert [(line.name, line.schema) for line in shown] == [
        ("new", "only in the second"),
        ("n", "INT → LONG"),
        ("old", "only in the first"),
        ("city", ""),
    ]


def test_a_side_that_reports_no_column_at_all_is_not_compared_instead_of_having_lost_them() -> None:
    [line] = lines(ColumnDiff("city", column("city", "a"), None))
    assert (line.schema, line.is_compared, line.sides[1].smallest) == ("", False, "-")


@pytest.mark.parametrize(
    ("name", "data_type", "value", "shown"),
    [
        ("day", "INT", "19783", "2024-03-01"),
        ("seen", "TIMESTAMP", "1709294400000", "2024-03-01T12:00:00Z"),
        ("city", "STRING", "19783", "19783"),
        ("gone", "INT", "19783", "19783"),
    ],
)
def test_dates_are_shown_as_dates(name: str, data_type: str, value: str, shown: str) -> None:
    [line] = lines(ColumnDiff(name, *(column(name, value, data_type=data_type) for _ in "ab")))
    assert (line.sides[0].smallest, line.sides[1].largest) == (shown, shown)


def test_numbers_of_values_have_bars_of_one_scale() -> None:
    [line] = lines(ColumnDiff("city", column("city", "a", count=(5, 5)), column("city", "a", count=(4, 10))))
    first, second = line.sides
    assert first.bar is not None
    assert second.bar is not None
    assert (first.bar.width, first.is_exact) == (50.0, True)
    assert (second.low, second.bar.rows, second.bar.width, second.is_exact) == (4, 10, 100.0, False)


def test_two_snapshots_of_many_columns_are_light_pages_of_them_with_what_differs_first(
    viewer: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_table("t_OFFLINE")
    columns = [
        ColumnDiff(name, column(name, "a" * 80, "b" * 80), column(name, "a" * 80, ("c" if n == 199 else "b") * 80))
        for n in range(200)
        for name in [f"a_column_with_a_long_name_{n:03d}"]
    ]
    side = Side("1", SnapshotSummary(1, 10, 100, None, None), ())
    found = SnapshotDiff("t_OFFLINE", side, side, (), (), (), 0, tuple(columns), ())
    monkeypatch.setattr("segments.console.views.replacement.entry.diff_snapshots", lambda *_: found)
    names = []
    for number in (1, 2, 3, 4):
        answer = viewer.get(f"/console/tables/t_OFFLINE/diff/?from=1&to=current&page={number}")
        assert len(answer.content) < 200_000
        names += re.findall(r'<span class="mono">(a_column\w+)', answer.content.decode())
    assert (len(names), len(set(names)), names[0]) == (200, 200, "a_column_with_a_long_name_199")
