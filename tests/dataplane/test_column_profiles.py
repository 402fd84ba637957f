"""A server adds up what the columns of many segments hold, and says why a load failed."""

from __future__ import annotations

import httpx

from segments.domain.segments.column_profile import merge
from tests.dataplane.world import SECRET, TABLE, World, poll
from tests.signed import Signed


def test_columns_are_added_up_and_what_is_not_held_is_named(world: World) -> None:
    world.create_table()
    server = world.start_server()
    world.push(["a", "b"])
    found = world.http.profile(server.admin_url, TABLE, ["a", "b", "a", "nope"])
    assert found.missing == ("nope",)
    columns = merge(found.columns)
    assert (columns["v"].segments, columns["v"].min_value, columns["v"].max_value) == (2, "a", "b")
    assert (columns["v"].cardinality_low, columns["v"].cardinality_high) == (1, 2)
    assert all(c.without_range == c.without_cardinality == 0 for c in columns.values())


def test_a_bad_request_is_refused_with_its_reason(world: World) -> None:
    world.create_table()
    server = world.start_server()
    url, signed = f"{server.admin_url}/tables/{TABLE}/segments/profile", Signed(SECRET)
    answer = httpx.post(url, json={"segments": "a"}, auth=signed)
    assert (answer.status_code, "list of segment names" in answer.json()["message"]) == (400, True)
    assert httpx.post(url, json={"segments": []}).status_code == 401


def test_the_reason_of_a_failed_load_is_reported(world: World) -> None:
    world.create_table()
    server = world.start_server()
    crc = world.build("a")
    world.record("a", crc + 1)
    world.assign(["a"])
    poll(lambda: "a" in world.http.errors(server.admin_url, TABLE), what="the reason")
    assert str(crc + 1) in world.http.errors(server.admin_url, TABLE)["a"]
