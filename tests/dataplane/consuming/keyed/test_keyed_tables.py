"""Dedup and partial upsert from outside: replicas agree, over segments, commits of both kinds and restarts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.dataplane.consuming.keyed.keyed_world import KeyedWorld, keyed_schema
from tests.dataplane.consuming_world import RT, rows_of
from tests.dataplane.world import poll

DEDUP = {"dedupConfig": {"dedupEnabled": True}}
PARTIAL = {
    "upsertConfig": {
        "mode": "PARTIAL", "partialUpsertStrategies": {"n": "INCREMENT", "late": "FORCE_OVERWRITE"},
        "outOfOrderRecordColumn": "late",
    },
    "tableIndexConfig": {"nullHandlingEnabled": True},
}  # fmt: skip
PEERS = {"peerSegmentDownloadScheme": "http"}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[KeyedWorld]:
    """An empty cluster."""
    made = KeyedWorld(tmp_path)
    yield made
    made.close()


def wait_for(world: KeyedWorld, broker: Any, sql: str, wanted: list[list[Any]]) -> None:
    """Wait until queries give exactly these rows."""
    poll(lambda: rows_of(broker, sql) == wanted, 20.0, f"{wanted[:5]} of {sql}")


@pytest.mark.parametrize("is_pauseless", [False, True])
def test_of_each_key_the_first_row_is_kept_on_every_replica(world: KeyedWorld, is_pauseless: bool) -> None:
    world.create_keyed(DEDUP, rows=40, servers=(1, 2), is_pauseless=is_pauseless, segments=PEERS)
    world.start_server(1)
    world.start_server(2)
    broker = world.start_broker()
    pick, first = random.Random(3), {}

    def put(start: int, count: int) -> None:
        rows = [(f"k{pick.randrange(150)}", 1, n, False) for n in range(start, start + count)]
        for key, _, n, _ in rows:
            first.setdefault(key, n)
        world.put(*rows)

    sql = "select id, n from r order by id, n limit 1000"
    put(0, 300)
    wait_for(world, broker, sql, sorted([k, n] for k, n in first.items()))
    for number in (1, 2):
        world.servers[number].stop()
        world.start_server(number)
        put(1000 * number, 60)
        wait_for(world, broker, sql, sorted([k, n] for k, n in first.items()))
    world.settled()
    wait_for(world, broker, sql, sorted([k, n] for k, n in first.items()))
    crcs = [world.fields(s).get("segment.crc") for s in world.chain()[:-1]]
    assert len(crcs) >= 3
    for number in (1, 2):
        held = world.servers[number].slots.serving(RT)
        assert [str(held[s].crc) for s in world.chain()[:-1]] == crcs


@pytest.mark.parametrize("is_pauseless", [False, True])
def test_rows_are_completed_over_segments_replicas_and_restarts(world: KeyedWorld, is_pauseless: bool) -> None:
    world.create_keyed(PARTIAL, rows=30, servers=(1, 2), is_pauseless=is_pauseless, segments=PEERS)
    world.start_server(1)
    world.start_server(2)
    broker = world.start_broker()
    pick, state = random.Random(4), {}

    def put(count: int) -> None:
        rows = []
        for _ in range(count):
            key, version, n = f"k{pick.randrange(12)}", pick.randrange(40), pick.choice([None, 1, 2, 5])
            rows.append({"id": key, "ts": 10**12 + version, "n": n})
            before = state.get(key)
            if before is None or version >= before[0]:
                state[key] = (version, n if before is None or before[1] is None else before[1] + (n or 0))
        world.put_json(rows)

    def is_right() -> bool:
        shown = rows_of(broker, "select id, n from r where n is not null order by id limit 100")
        return shown == [[k, n] for k, (_, n) in sorted(state.items()) if n is not None]

    put(130)
    poll(is_right, 20.0, "completed rows")
    for number in (1, 2):
        world.servers[number].stop()
        poll(is_right, 20.0, "completed rows of the other")
        world.start_server(number)
        put(40)
        poll(is_right, 20.0, "completed rows")
    world.settled()
    poll(is_right, 20.0, "completed rows at the end")
    assert rows_of(broker, "SET skipUpsert=true; select count(*) from r") == [[210]]


def test_late_rows_are_marked_or_dropped_as_the_table_wants_it(world: KeyedWorld) -> None:
    world.create_keyed({"upsertConfig": {"mode": "FULL", "outOfOrderRecordColumn": "late"}}, schema=keyed_schema())
    world.start_server()
    broker = world.start_broker()
    world.put(("a", 5, 1, False), ("a", 4, 2, False), ("b", 1, 3, False), ("a", 5, 4, False))
    sql = "SET skipUpsert=true; select n, late from r order by n limit 10"
    wait_for(world, broker, sql, [[1, False], [2, True], [3, False], [4, False]])


def test_keys_older_than_the_ttl_are_forgotten_with_the_next_segment_and_their_rows_stay(world: KeyedWorld) -> None:
    world.create_keyed({"upsertConfig": {"mode": "FULL", "metadataTTL": 10}}, rows=4)
    server = world.start_server()
    broker = world.start_broker()
    world.put(("a", 1, 1, False), ("a", 2, 2, False), ("b", 50, 3, False), ("c", 51, 4, False), ("d", 52, 5, False))
    world.shows(broker, [["a", 2], ["b", 3], ["c", 4], ["d", 5]])
    keys = server.consumers.keys.known(RT)
    poll(lambda: keys is not None and keys.keys == 3, what="three keys")


def test_deleted_keys_older_than_their_ttl_are_forgotten_and_stay_deleted_and_no_other_key_is(
    world: KeyedWorld,
) -> None:
    upsert = {"mode": "FULL", "deleteRecordColumn": "gone", "deletedKeysTTL": 10}
    world.create_keyed({"upsertConfig": upsert}, rows=6)
    server = world.start_server()
    broker = world.start_broker()
    world.put(
        ("old", 1, 1, False), ("dead", 1, 2, False), ("dead", 2, 3, True), ("new", 50, 4, False),
        ("fresh", 50, 5, False), ("fresh", 51, 6, True),
    )  # fmt: skip
    poll(lambda: len(world.chain()) == 2, what="the commit")
    world.put(("next", 52, 7, False))
    shown = [["new", 4], ["next", 7], ["old", 1]]
    world.shows(broker, shown)
    keys = server.consumers.keys.known(RT)
    poll(lambda: keys is not None and keys.keys == 4, what="every key but the one that was deleted long ago")
    world.settled()
    world.shows(broker, shown)
    server.stop()
    world.start_server()
    world.shows(broker, shown)
    world.put(("dead", 60, 8, False), ("old", 0, 9, False))
    world.shows(broker, sorted([*shown, ["dead", 8]]))


@pytest.mark.parametrize("mode", ["FULL", "PARTIAL"])
def test_several_comparison_columns_decide_the_same_on_every_replica_and_after_restarts(
    world: KeyedWorld, mode: str
) -> None:
    upsert = {"mode": mode, "comparisonColumns": ["ts", "n"]}
    config = {"upsertConfig": upsert, "tableIndexConfig": {"nullHandlingEnabled": True}}
    world.create_keyed(config, rows=25, servers=(1, 2))
    world.start_server(1)
    world.start_server(2)
    broker = world.start_broker()
    pick, state = random.Random(5), {}

    def put(count: int) -> None:
        rows = []
        for _ in range(count):
            key, column = f"k{pick.randrange(10)}", pick.choice(["ts", "n"])
            value = pick.randrange(30) + (10**12 if column == "ts" else 0)
            rows.append({"id": key, column: value})
            before = state.setdefault(key, {}).get(column)
            if before is None or value >= before:
                state[key][column] = value
        world.put_json(rows)

    def is_right() -> bool:
        sql = "SET enableNullHandling=true; select id, ts, n from r order by id limit 100"
        both = {key: values for key, values in state.items() if len(values) == 2}
        shown = [row for row in rows_of(broker, sql) or [] if row[0] in both]
        return shown == [[key, values["ts"], values["n"]] for key, values in sorted(both.items())]

    put(110)
    poll(is_right, 20.0, "merged comparison values")
    for number in (1, 2):
        world.servers[number].stop()
        world.start_server(number)
        put(30)
        poll(is_right, 20.0, "merged comparison values")
    world.settled()
    poll(is_right, 20.0, "merged comparison values at the end")
    assert rows_of(broker, "SET skipUpsert=true; select count(*) from r") == [[170]]


@pytest.mark.parametrize(("data_type", "version"), [("STRING", "release of the record {:03}"), ("BIG_DECIMAL", "{}.5")])
def test_texts_and_decimals_decide_between_rows_also_once_they_are_in_files_and_after_restarts(
    world: KeyedWorld, data_type: str, version: str
) -> None:
    columns = [*keyed_schema().body["dimensionFieldSpecs"], {"name": "version", "dataType": data_type}]
    upsert = {"mode": "FULL", "comparisonColumns": ["version"]}
    schema = keyed_schema(dimensionFieldSpecs=columns)
    world.create_keyed({"upsertConfig": upsert}, schema=schema, rows=25, servers=(1, 2))
    world.start_server(1)
    world.start_server(2)
    broker = world.start_broker()
    pick = random.Random(7)

    def put(count: int) -> None:
        rows = [(f"k{pick.randrange(10)}", pick.randrange(1, 120), pick.randrange(1000), False) for _ in range(count)]
        world.rows += rows
        world.put_json([{"id": i, "ts": 10**12, "n": n, "version": version.format(v)} for i, v, n, _ in rows])

    put(110)
    world.shows(broker)
    for number in (1, 2):
        world.servers[number].stop()
        world.start_server(number)
        put(30)
        world.shows(broker)
    world.settled()
    world.shows(broker)
