"""Balanced assignment of segments to servers."""

from __future__ import annotations

import pytest

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
