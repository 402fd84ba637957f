"""Names of snapshots, and profiles of columns added up."""

from __future__ import annotations

import pytest

from segments.domain.replacement.snapshots import find_snapshot
from segments.domain.segments.column_profile import ColumnProfile, from_json, merge, profile_of
from segments.errors import InvalidInput, NotFound
from tests.domain.replacement.test_rollback import CHAIN, lineage


def test_an_entry_names_the_snapshot_that_it_made_whatever_came_later() -> None:
    ideal = ["a", "b", "c", "d"]
    assert [find_snapshot(lineage(*CHAIN), n, ideal).segments for n in ("current", "e3", "e2", "e1")] == [
        ("d",),
        ("d",),
        ("c",),
        ("b",),
    ]


def test_a_reverted_or_unfinished_entry_names_what_queries_would_see() -> None:
    line = lineage(("e1", "a", "b", "REVERTED"), ("e2", "a", "c", "COMPLETED"), ("e3", "c", "d", "IN_PROGRESS"))
    ideal = ["a", "c", "d", "z"]
    assert find_snapshot(line, "current", ideal).segments == ("c", "z")
    assert find_snapshot(line, "e3", ideal).segments == ("d", "z")
    rival = find_snapshot(line, "e1", ideal)
    assert (rival.segments, rival.gone) == (("z",), ("b",))


def test_a_chain_whose_first_link_was_taken_back_is_shown_as_it_was() -> None:
    line = lineage(("e1", "a", "b", "REVERTED"), ("e2", "b", "c", "REVERTED"))
    assert find_snapshot(line, "e2", ["a", "b", "c"]).segments == ("c",)


def test_the_sides_of_an_entry_are_its_lists() -> None:
    line = lineage(("e1", "a b", "c", "COMPLETED"))
    assert find_snapshot(line, "e1:from", ["a", "c"]).segments == ("a",)
    assert find_snapshot(line, "e1:from", ["a", "c"]).gone == ("b",)
    assert find_snapshot(line, "e1:to", ["a", "c"]).segments == ("c",)


def test_bad_names_are_refused() -> None:
    line = lineage(*CHAIN)
    with pytest.raises(NotFound, match="nope"):
        find_snapshot(line, "nope", [])
    with pytest.raises(InvalidInput, match="left"):
        find_snapshot(line, "e1:left", [])


def column(
    low: str | None, high: str | None, cardinality: int, stored: str = "INT", *, rows: bool = True
) -> ColumnProfile:
    return profile_of("c", stored, stored, low=low, high=high, cardinality=cardinality, has_rows=rows)


def test_numbers_compare_as_numbers_and_texts_as_texts() -> None:
    found = merge([column("9", "10", 2), column("-3", "9", 5)])["c"]
    assert (found.min_value, found.max_value) == ("-3", "10")
    numbers = merge([column("9", "9", 1), column("10", "10", 1)])["c"]
    texts = merge([column("9", "9", 1, "STRING"), column("10", "10", 1, "STRING")])["c"]
    assert (numbers.min_value, texts.min_value) == ("9", "10")
    floats = merge([column("-Infinity", "1.5", 3, "DOUBLE"), column("-2.5E3", "Infinity", 3, "DOUBLE")])["c"]
    assert (floats.min_value, floats.max_value) == ("-Infinity", "Infinity")


def test_cardinalities_are_bounds_and_what_is_not_reported_is_counted() -> None:
    found = merge(
        [column("1", "5", 5), column(None, None, -1), column("4", "9", 3), column(None, None, 0, rows=False)]
    )["c"]
    assert (found.segments, found.cardinality_low, found.cardinality_high) == (4, 5, 8)
    assert (found.min_value, found.max_value, found.without_range, found.without_cardinality) == ("1", "9", 1, 1)


def test_merging_is_the_same_in_any_grouping() -> None:
    parts = [column("3", "4", 2), column("1", "2", 2), column(None, None, 7), column("-1", "20", 4)]
    assert merge([*merge(parts[:2]).values(), *merge(parts[2:]).values()]) == merge(parts)


def test_a_profile_survives_its_journey() -> None:
    found = merge([column("1", "5", 5), column(None, None, -1)])["c"]
    assert from_json(found.to_json()) == found
    with pytest.raises(KeyError):
        from_json({"name": "c"})
