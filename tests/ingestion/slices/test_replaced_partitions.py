"""Partitions of APPEND tables, alone and of a time range: what is named is replaced whole, nothing else is touched."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from segments.domain.ingestion.session import SessionState
from segments.errors import InvalidInput, StateConflict
from segments.gateways.deep_store.deepstore import STAGING
from segments.segmentfile.columns.partition import partition_ids
from segments.services.ingestion import sessions
from segments.services.ingestion.slices.kept_rows import opened
from tests.ingestion.ingesting import APPEND, IngestionWorld
from tests.ingestion.slices.test_replaced_parts import days
from tests.ingestion.test_interruptions import is_cut_everywhere, session_and_run
from tests.services.world import TABLE

pytestmark = pytest.mark.django_db

SPLIT = {"replaceCrossing": "split"}
#: Cities by partition of four.
CITIES = {
    number: next(c for c in (f"city{i}" for i in range(99)) if partition_ids([c], "Murmur", 4) == [number])
    for number in range(4)
}


def of_partitions(folder: Path) -> IngestionWorld:
    """Files of partition 0 and 1 alone, and one of 1 to 3 with days 17001 and 17002; two rows of each."""
    world = IngestionWorld(folder, APPEND)
    world.configure_table(tableIndexConfig={
        "segmentPartitionConfig": {"columnPartitionMap": {"city": {"functionName": "Murmur", "numPartitions": 4}}}
    })  # fmt: skip
    for name, first, last, day in (("a.csv", 0, 0, 17000), ("b.csv", 1, 1, 17000), ("c.csv", 1, 3, 17001)):
        rows = [f"{CITIES[n]},{i},{day + (n > 1)}" for n in range(first, last + 1) for i in range(2)]
        world.file(name, *rows)
    world.go()
    assert counts(world) == {0: 2, 1: 4, 2: 2, 3: 2}
    for path in world.folder.iterdir():
        path.unlink()
    world.builder.builds.clear()
    return world


def counts(world: IngestionWorld) -> dict[int, int]:
    """Visible rows by partition, as they are stored."""
    found = Counter[int]()
    for name in world.visible:
        with opened(world.ctx, TABLE, name) as (reader, _):
            for city in reader.column("city").to_pylist():
                found.update(partition_ids([city], "Murmur", 4))
    return dict(sorted(found.items()))


def corrected(folder: Path) -> IngestionWorld:
    """Partition 1 has five rows from now on."""
    world = of_partitions(folder)
    world.configure(replacePartitions="city=1", **SPLIT)
    world.file("again.csv", *(f"{CITIES[1]},{n},17000" for n in range(5)))
    world.now += 600_000
    return world


def test_a_partition_is_replaced_whole_and_the_others_stay(tmp_path: Path) -> None:
    world = of_partitions(tmp_path)
    before = set(world.visible)
    world.configure(replacePartitions="city=0")
    world.file("again.csv", *(f"{CITIES[0]},{n},17000" for n in range(7)))
    found = sessions.preview(world.ctx, TABLE)
    assert (len(found.segments), found.rows, found.crossing) == (1, 2, ())
    world.go()
    assert counts(world) == {0: 7, 1: 4, 2: 2, 3: 2}
    assert before - set(world.visible) == set(found.segments)
    assert world.go().session_id is None


def test_a_segment_with_rows_of_other_partitions_too_is_named_and_nothing_is_read(tmp_path: Path) -> None:
    world = of_partitions(tmp_path)
    world.configure(replacePartitions="city=0,1")
    world.file("again.csv", f"{CITIES[1]},1,17000")
    found = sessions.preview(world.ctx, TABLE)
    assert len(found.crossing) == 1
    assert "set replaceCrossing to split" in found.what
    with pytest.raises(StateConflict, match="the edge of the replaced partitions") as refused:
        world.go()
    assert "replacePartitions" in refused.value.remedy
    assert (world.read, counts(world)) == (0, {0: 2, 1: 4, 2: 2, 3: 2})


def test_rows_of_other_partitions_stay_where_segments_are_split(tmp_path: Path) -> None:
    world = corrected(tmp_path)
    found = sessions.preview(world.ctx, TABLE)
    assert (len(found.segments), [(s.rows, s.stay) for s in found.splits]) == (2, [(6, 4)])
    assert (world.read, counts(world)[1]) == (0, 4)
    world.go()
    assert (world.session.error, counts(world)) == ("", {0: 2, 1: 5, 2: 2, 3: 2})
    assert world.ctx.deep_store.folders(STAGING) == []
    assert world.go().session_id is None


def test_a_split_by_partition_cut_after_every_write_ends_the_same(tmp_path: Path) -> None:
    is_cut_everywhere(tmp_path, corrected, session_and_run, 11)


def test_a_partition_of_a_day_leaves_its_other_days_and_the_days_other_partitions(tmp_path: Path) -> None:
    world = of_partitions(tmp_path)
    world.configure(replacePartitions="city=1", **days(17001, 17002), **SPLIT)
    world.file("again.csv", *(f"{CITIES[1]},{n},17001" for n in range(9)))
    assert len(sessions.preview(world.ctx, TABLE).segments) == 1
    world.go()
    assert (world.session.error, counts(world)) == ("", {0: 2, 1: 11, 2: 2, 3: 2})


def test_new_rows_of_other_partitions_stop_the_switch_with_the_file(tmp_path: Path) -> None:
    world = of_partitions(tmp_path)
    world.configure(replacePartitions="city=0")
    world.file("again.csv", f"{CITIES[0]},1,17000", f"{CITIES[2]},1,17000")
    world.go()
    assert world.session.state is SessionState.IN_PROGRESS
    assert "again.csv' has rows outside of the replaced partitions" in world.session.error
    assert counts(world) == {0: 2, 1: 4, 2: 2, 3: 2}


def test_segments_that_were_partitioned_otherwise_are_split_by_their_values(tmp_path: Path) -> None:
    world = of_partitions(tmp_path)
    world.configure_table(tableIndexConfig={
        "segmentPartitionConfig": {"columnPartitionMap": {"city": {"functionName": "Murmur", "numPartitions": 2}}}
    })  # fmt: skip
    world.configure(replacePartitions="city=1", **SPLIT)
    world.file("again.csv", f"{CITIES[3]},1,17000")
    assert len(sessions.preview(world.ctx, TABLE).splits) == 3
    world.go()
    assert (world.session.error, counts(world)) == ("", {0: 2, 2: 2, 3: 1})


def test_partitions_of_another_function_say_nothing(tmp_path: Path) -> None:
    world = of_partitions(tmp_path)
    columns = {"city": {"functionName": "HashCode", "numPartitions": 4}}
    world.configure_table(tableIndexConfig={"segmentPartitionConfig": {"columnPartitionMap": columns}})
    world.configure(replacePartitions="city=1")
    world.file("again.csv", f"{CITIES[3]},1,17000")
    assert len(sessions.preview(world.ctx, TABLE).crossing) == 3


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("city=4", "column 'city' has partitions 0 to 3"),
        ("n=0", r"not partitioned \(partitioned: city\)"),
        ("0,1", "a column and partition numbers"),
        ("city=0,-1", "a column and partition numbers"),
    ],
)
def test_partitions_that_the_table_does_not_have_are_refused(tmp_path: Path, given: str, says: str) -> None:
    world = of_partitions(tmp_path)
    world.configure(replacePartitions=given)
    with pytest.raises(InvalidInput, match=says) as refused:
        world.go()
    assert refused.value.data["field"] == "replacePartitions"
