"""Queries of several tables see one row of each key, as those of one table do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dataplane.consuming.keyed.keyed_world import KeyedWorld
from tests.dataplane.consuming_world import rows_of
from tests.dataplane.world import poll

FULL = {"upsertConfig": {"mode": "FULL", "deleteRecordColumn": "gone"}}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[KeyedWorld]:
    """An upsert table of which each key has several rows, over committed and consuming segments."""
    made = KeyedWorld(tmp_path)
    made.create_keyed(FULL, rows=4)
    made.start_server()
    made.start_broker()
    made.put(("a", 1, 1, False), ("b", 1, 2, False), ("a", 2, 3, False), ("c", 1, 4, False))
    made.put(("b", 2, 5, False), ("c", 2, 6, True), ("a", 0, 7, False), ("d", 1, 8, False))
    made.put(("a", 3, 9, False))
    poll(lambda: len(made.chain()) == 3, what="two committed segments")
    made.shows(made.brokers[0], [["a", 9], ["b", 5], ["d", 8]])
    yield made
    made.close()


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("select a.id, b.n from r a join r b on a.id = b.id order by a.id", [["a", 9], ["b", 5], ["d", 8]]),
        ("with x as (select id, n from r) select id, n from x order by id", [["a", 9], ["b", 5], ["d", 8]]),
        ("select count(*) from r where id in (select id from r where n < 8)", [[1]]),
        ("select id, row_number() over (partition by id order by n) from r order by id",
         [["a", 1], ["b", 1], ["d", 1]]),
        ("select id from r union all select id from r order by id",
         [["a"], ["a"], ["b"], ["b"], ["d"], ["d"]]),
        # b has n = 2 in a row that a later one replaced: a condition that servers apply finds none of those.
        ("select a.n from r a join (select id from r) b on a.id = b.id where a.n = 2", []),
    ],
)  # fmt: skip
def test_one_row_of_each_key_is_joined(world: KeyedWorld, sql: str, wanted: list[list[object]]) -> None:
    assert rows_of(world.brokers[0], sql) == wanted


def test_all_rows_are_joined_when_asked(world: KeyedWorld) -> None:
    sql = (
        "select a.id, count(*) from r a join r b on a.id = b.id and a.ts = b.ts and a.n = b.n group by a.id order by 1"
    )
    every = [["a", 4], ["b", 2], ["c", 2], ["d", 1]]
    assert rows_of(world.brokers[0], f"SET skipUpsert=true; {sql}") == every
    assert rows_of(world.brokers[0], f"{sql} OPTION(skipUpsert=true)") == every
    assert rows_of(world.brokers[0], sql) == [["a", 1], ["b", 1], ["d", 1]]
