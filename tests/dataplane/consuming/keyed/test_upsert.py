"""Full upsert from outside: queries see one row of each key, the latest, in every state of a segment."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dataplane.consuming.keyed.keyed_world import KeyedWorld, Row
from tests.dataplane.consuming_world import RT, rows_of
from tests.dataplane.world import poll

FULL = {"upsertConfig": {"mode": "FULL", "deleteRecordColumn": "gone"}}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[KeyedWorld]:
    """An empty cluster."""
    made = KeyedWorld(tmp_path)
    yield made
    made.close()


def stream_of(seed: int, rows: int, keys: int = 40) -> list[Row]:
    """Repeats, rows out of order, deletes."""
    pick = random.Random(seed)
    return [(f"k{pick.randrange(keys)}", i - pick.choice([0, 0, 0, 30]), i, pick.random() < 0.1) for i in range(rows)]


def test_queries_see_the_latest_row_of_each_key_and_all_rows_when_asked(world: KeyedWorld) -> None:
    world.create_keyed(FULL)
    world.start_server()
    broker = world.start_broker()
    world.put(("a", 1, 1, False), ("b", 1, 2, False), ("a", 2, 3, False), ("a", 1, 4, False), ("b", 1, 5, False))
    world.shows(broker, [["a", 3], ["b", 5]])
    assert rows_of(broker, "select count(*), sum(n), distinctcount(id) from r") == [[2, 8.0, 2]]
    assert rows_of(broker, "select count(*) from r where n < 5") == [[1]]
    assert rows_of(broker, "SET skipUpsert=true; select count(*) from r") == [[5]]
    assert rows_of(broker, "select count(*) from r OPTION(skipUpsert=true)") == [[5]]
    world.put(("a", 5, 6, True), ("b", 0, 7, True))
    world.shows(broker, [["b", 5]])
    world.put(("a", 5, 8, False))
    world.shows(broker, [["a", 8], ["b", 5]])


def test_each_key_has_one_row_over_segments_replicas_and_restarts(world: KeyedWorld) -> None:
    world.create_keyed(FULL, rows=100, servers=(1, 2))
    world.start_server(1)
    world.start_server(2)
    broker = world.start_broker()
    world.put(*stream_of(1, 450))
    world.shows(broker)
    poll(lambda: len(world.chain()) == 5, what="five segments")
    world.settled()
    world.shows(broker)
    for number in (1, 2):
        world.servers[number].stop()
        world.shows(broker)
        world.start_server(number)
        world.put(*stream_of(10 + number, 70))
        world.shows(broker)
    world.settled()
    world.shows(broker)


@pytest.mark.parametrize("is_pauseless", [False, True])
def test_no_query_sees_a_key_twice_or_misses_one_while_segments_are_committed(
    world: KeyedWorld, is_pauseless: bool
) -> None:
    world.create_keyed(FULL, rows=50, is_pauseless=is_pauseless, segments={"peerSegmentDownloadScheme": "http"})
    world.start_server()
    broker = world.start_broker()
    keys = [f"k{i}" for i in range(20)]
    world.put(*((key, 0, 0, False) for key in keys))
    world.shows(broker)
    wrong, is_over = [], threading.Event()

    def watch() -> None:
        while not is_over.is_set():
            for where in ("", " where n >= 0"):
                sql = f"select count(*), distinctcount(id) from r{where}"
                if (rows := rows_of(broker, sql)) not in (None, [[20, 20]]):
                    wrong.append(rows)

    watcher = threading.Thread(target=watch)
    watcher.start()
    for round_ in range(1, 40):
        world.put(*((key, round_, round_, False) for key in keys))
        world.shows(broker)
    is_over.set()
    watcher.join()
    assert not wrong
    assert len(world.chain()) > 10


def test_older_rows_count_again_when_the_segment_of_later_ones_is_deleted(world: KeyedWorld) -> None:
    world.create_keyed(FULL, rows=2)
    world.start_server()
    broker = world.start_broker()
    world.put(("a", 1, 1, False), ("b", 1, 2, False), ("a", 2, 3, False), ("c", 1, 4, False))
    poll(lambda: len(world.chain()) == 3, what="three segments")
    world.settled()
    world.shows(broker, [["a", 3], ["b", 2], ["c", 4]])
    world.unassign(world.chain()[1], table=RT)
    world.shows(broker, [["a", 1], ["b", 2]])
