"""Snapshots of upsert and dedup tables: each key has the row that counted when the snapshot was the present one, as a
model in plain Python says, while later rows of the same keys, deletions and new keys come in.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from segments.dataplane.primary_keys import table_keys
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import Cluster, Snapshot
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.replacement.history.as_of import query_as_of
from segments.services.replacement.values_diff import compare_column
from tests.dataplane.consuming.keyed.keyed_world import KeyedWorld, Row
from tests.dataplane.test_stream_snapshots import reading
from tests.dataplane.world import poll

pytestmark = pytest.mark.django_db

ALL = "select id, n from r order by id, n limit 100000"
FULL = {"upsertConfig": {"mode": "FULL", "deleteRecordColumn": "gone"}}
ROWS = 60


@pytest.fixture
def world(tmp_path: Path) -> Iterator[KeyedWorld]:
    made = KeyedWorld(tmp_path)
    yield made
    made.close()


def shown(ctx: Context, number: int, sql: str = ALL) -> Any:
    answer = query_as_of(ctx, sql, {}, str(number))
    assert not answer.get("exceptions"), answer
    return answer["resultTable"]["rows"]


def snapshot_taken(world: KeyedWorld) -> int:
    """All that was sent is committed: its number in the history. Commits of one hour would be one snapshot."""
    poll(lambda: len(world.chain()) == world.sent // ROWS + 1, what="the next segment")
    world.settled()
    ClusterFollower(world.store, Cluster.objects.get_or_create(name="test")[0]).sync_all()
    newest = Snapshot.objects.first()
    assert newest is not None
    Snapshot.objects.filter(pk=newest.pk).update(at=newest.at - timedelta(hours=2))
    return newest.number


def some_rows(pick: random.Random, at: int) -> list[Row]:
    """Repeats, rows out of order, deletions, keys that are new."""
    return [
        (f"k{pick.randrange(20 + at // 10)}", at + i - pick.choice([0, 0, 0, 40]), at + i, pick.random() < 0.1)
        for i in range(ROWS)
    ]


def test_each_snapshot_of_an_upsert_table_has_the_rows_that_counted_then(world: KeyedWorld) -> None:
    world.create_keyed(FULL, rows=ROWS, servers=(1, 2))
    world.start_server(1)
    world.start_server(2)
    ctx, pick = reading(world), random.Random(5)
    wanted: dict[int, list[list[Any]]] = {}
    for _ in range(4):
        world.put(*some_rows(pick, len(world.rows)))
        wanted[snapshot_taken(world)] = world.latest
    world.put(*(("k1", 10**6, -1, False), ("new", 0, 7, False), ("k2", 10**6, -2, True)))
    assert len(wanted) == 4
    assert {number: shown(ctx, number) for number in wanted} == wanted
    first = next(iter(wanted))
    assert shown(ctx, first, "select count(*), sum(n) from r") == [
        [len(wanted[first]), float(sum(n for _, n in wanted[first]))]
    ]
    assert shown(ctx, first, "select count(*) from r option(skipUpsert=true)") == [[ROWS]]


def test_rows_that_were_merged_are_as_they_were_merged_then(world: KeyedWorld) -> None:
    partial = {"mode": "PARTIAL", "defaultPartialUpsertStrategy": "OVERWRITE"}
    partial["partialUpsertStrategies"] = {"n": "INCREMENT"}  # type: ignore[assignment]  # a JSON document
    world.create_keyed({"upsertConfig": partial, "tableIndexConfig": {"nullHandlingEnabled": True}}, rows=ROWS)
    world.start_server()
    ctx, total, wanted = reading(world), {f"k{i}": 0 for i in range(10)}, {}
    for turn in range(3):
        rows = [(f"k{i % 10}", turn * ROWS + i, 1 + i % 3, False) for i in range(ROWS)]
        for key, _, n, _ in rows:
            total[key] += n
        world.put(*rows)
        wanted[snapshot_taken(world)] = [[key, n] for key, n in sorted(total.items())]
    assert {number: shown(ctx, number) for number in wanted} == wanted


def test_of_dedup_the_first_row_of_each_key_is_in_every_snapshot(world: KeyedWorld) -> None:
    world.create_keyed({"dedupConfig": {"dedupEnabled": True}}, rows=ROWS)
    world.start_server()
    ctx, wanted = reading(world), {}
    for turn in range(2):
        fresh = [(f"k{turn}-{i:02}", i, i, False) for i in range(ROWS)]
        world.put_json([{"id": i, "ts": 10**12 + v, "n": n} for i, v, n, _ in fresh])
        wanted[snapshot_taken(world)] = ROWS * (turn + 1)
    assert {n: shown(ctx, n, "select count(*), distinctcount(id) from r") for n in wanted} == {
        n: [[rows, rows]] for n, rows in wanted.items()
    }


def test_two_earlier_snapshots_are_compared_by_the_rows_that_counted_in_each(world: KeyedWorld) -> None:
    world.create_keyed(FULL, rows=ROWS)
    world.start_server()
    numbers = []
    for turn in range(3):
        world.put(*((f"k{i % 6}", turn * ROWS + i, turn, False) for i in range(ROWS)))
        numbers.append(str(snapshot_taken(world)))
    found = compare_column(reading(world), TableName("r", "REALTIME"), numbers[0], numbers[1], "n")
    assert found.before is not None
    assert found.after is not None
    assert [(v.value, v.rows) for v in found.before.top] == [("0", 6)]
    assert [(v.value, v.rows) for v in found.after.top] == [("1", 6)]


def test_more_rows_than_a_server_compares_are_refused_with_what_to_do(
    world: KeyedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.create_keyed(FULL, rows=ROWS)
    world.start_server()
    world.put(*some_rows(random.Random(1), 0))
    number = snapshot_taken(world)
    monkeypatch.setattr(table_keys, "MOST_ROWS_ALONE", ROWS - 1)
    answer = query_as_of(reading(world), ALL, {}, str(number))
    assert f"has {ROWS} rows on one server" in answer["exceptions"][0]["message"]
