"""Balanced assignment of segments to servers."""

from __future__ import annotations

import pytest

from segments.domain.realtime.realtime_assignment import kept_rows
from segments.domain.segments.assignment import assign, choose_servers, segments_per_server
from segments.errors import StateConflict


def test_loads_that_begin_equal_differ_by_at_most_one() -> None:
    rows = assign([f"s{i}" for i in range(11)], ["a", "b", "c"], {}, 2)
    loads = segments_per_server(rows.values())
    assert sum(loads.values()) == 22
    assert max(loads.values()) - min(loads.values()) <= 1
    assert all(len(row) == 2 and set(row.values()) == {"ONLINE"} for row in rows.values())


def test_the_emptiest_server_comes_first() -> None:
    assert assign(["x"], ["a", "b", "c"], {"a": 5, "b": 1, "c": 9}, 1) == {"x": {"b": "ONLINE"}}


def test_fewer_servers_than_copies_take_one_each() -> None:
    assert assign(["x"], ["a"], {}, 3) == {"x": {"a": "ONLINE"}}


def test_live_servers_are_preferred_and_known_ones_fill_up() -> None:
    assert choose_servers("t", 1, ready={"b"}, known={"a", "b"}, tag="x_OFFLINE") == ["b"]
    assert choose_servers("t", 2, ready={"b"}, known={"a", "b"}, tag="x_OFFLINE") == ["a", "b"]
    with pytest.raises(StateConflict, match="no enabled server carries the tag 'x_OFFLINE'"):
        choose_servers("t", 1, ready=set(), known=set(), tag="x_OFFLINE")


def test_a_partition_of_a_keyed_table_stays_on_the_servers_of_its_newest_segment() -> None:
    rows = {
        "t__0__0__20260801T1000Z": {"a": "ONLINE", "b": "ONLINE"},
        "t__0__1__20260801T1100Z": {"c": "CONSUMING", "b": "CONSUMING"},
        "t__1__0__20260801T1000Z": {"a": "OFFLINE"},
        "uploaded": {"z": "ONLINE"},
    }
    assert kept_rows(rows) == {0: {"b": "CONSUMING", "c": "CONSUMING"}, 1: {"a": "CONSUMING"}}
