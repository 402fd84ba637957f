"""On which side of a replaced part's edge a segment lies, by what its record says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from segments.domain.ingestion.replaced_part import Partitions, Selector, partition_problems, read_selector
from segments.domain.ingestion.replaced_part import selector_problems as wrong
from segments.domain.ingestion.selection import Extent, chosen_segments, extent_of, is_inside
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.domain.tables.table_config import TableConfig, parse_table_config

FOUR = Partitions("city", "Murmur", 4, frozenset({0, 1}))
TIMES, PARTS = Selector(100, 200), Selector(partitions=FOUR)
BOTH = Selector(100, 200, partitions=FOUR)


def ids(*numbers: int) -> frozenset[int]:
    return frozenset(numbers)


@pytest.mark.parametrize(
    ("selector", "extent", "side"),
    [
        (TIMES, Extent(100, 199), "inside"),
        (TIMES, Extent(99, 199), "edge"),
        (TIMES, Extent(100, 200), "edge"),
        (TIMES, Extent(0, 300), "edge"),
        (TIMES, Extent(0, 99), "outside"),
        (TIMES, Extent(0, 100), "edge"),
        (TIMES, Extent(200, 300), "outside"),
        (TIMES, Extent(None, 150), "edge"),
        (TIMES, Extent(150, None), "edge"),
        (PARTS, Extent(partitions=ids(0)), "inside"),
        (PARTS, Extent(partitions=ids(0, 1)), "inside"),
        (PARTS, Extent(partitions=ids(1, 2)), "edge"),
        (PARTS, Extent(partitions=ids(2, 3)), "outside"),
        (PARTS, Extent(), "edge"),
        (BOTH, Extent(100, 150, ids(0)), "inside"),
        (BOTH, Extent(100, 150, ids(0, 2)), "edge"),
        (BOTH, Extent(100, 250, ids(0)), "edge"),
        (BOTH, Extent(100, 150, ids(2)), "outside"),
        (BOTH, Extent(200, 250, ids(0)), "outside"),
    ],
)
def test_a_segment_lies_inside_outside_or_on_the_edge(selector: Selector, extent: Extent, side: str) -> None:
    found = chosen_segments(selector, {"s": extent})
    assert found == {"inside": (("s",), ()), "edge": ((), ("s",)), "outside": ((), ())}[side]


@pytest.mark.parametrize(
    ("selector", "extent", "inside"),
    [
        (TIMES, Extent(100, 199), True),
        (TIMES, Extent(100, 200), False),
        (TIMES, Extent(None, 300), True),
        (TIMES, Extent(0, None), True),
        (PARTS, Extent(partitions=ids(1)), True),
        (PARTS, Extent(partitions=ids(1, 2)), False),
        (PARTS, Extent(), True),
        (BOTH, Extent(100, 150, ids(2)), False),
        (BOTH, Extent(100, 250, ids(0)), False),
    ],
)
def test_new_rows_have_to_lie_inside_as_far_as_it_is_known(selector: Selector, extent: Extent, inside: bool) -> None:
    assert is_inside(selector, extent) is inside


def partitioned(**changed: Any) -> SegmentMetadata:
    """A segment's record with partition 1 of four by Murmur."""
    said = {"functionName": "murmur", "numPartitions": 4, "partitions": [1], **changed}
    text = json.dumps({"columnPartitionMap": {"city": said}})
    return SegmentMetadata("s", {"segment.partition.metadata": text})


def test_a_record_counts_only_where_it_has_the_same_partitions() -> None:
    assert extent_of(partitioned(), PARTS).partitions == ids(1)
    for changed in ({"functionName": "Modulo"}, {"numPartitions": 8}, {"partitions": None}):
        assert extent_of(partitioned(**changed), PARTS).partitions is None
    assert extent_of(partitioned(), TIMES).partitions is None
    assert extent_of(SegmentMetadata("s", {}), PARTS).partitions is None


def config() -> TableConfig:
    index = {"segmentPartitionConfig": {"columnPartitionMap": {"city": {"functionName": "Murmur", "numPartitions": 4}}}}
    return parse_table_config({"tableName": "t", "tableType": "OFFLINE", "tableIndexConfig": index})


@pytest.mark.parametrize(
    ("keys", "key", "says"),
    [
        ({"replacePartitions": "city"}, "replacePartitions", "must be a column and partition numbers"),
        ({"replacePartitions": "city=-1"}, "replacePartitions", "must be a column and partition numbers"),
        ({"replacePartitions": "=1"}, "replacePartitions", "must be a column and partition numbers"),
        ({"replaceFiles": "*.csv"}, "replaceFiles", "is not a file name pattern"),
        ({"replaceFiles": "glob:**", "replacePartitions": "city=1"}, "replaceFiles", "exclude one another"),
        ({"replaceFrom": "soon", "replaceUntil": "later"}, "replaceFrom", "must be a date"),
        ({"replaceUntil": "5"}, "replaceFrom", "is missing next to"),
        ({"replaceFrom": "5", "replaceUntil": "5"}, "replaceUntil", "is not later"),
        ({"replaceFrom": "1", "replaceUntil": "2", "replaceCrossing": "cut"}, "replaceCrossing", "refuse or split"),
        ({"replaceCrossing": "split"}, "replaceCrossing", "has no effect without"),
    ],
)
def test_a_part_that_cannot_be_understood_is_named_by_its_key(keys: dict[str, str], key: str, says: str) -> None:
    found = wrong(keys)
    assert says in next(p.what for p in found if p.key == key)
    assert partition_problems(keys, config()) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("town=0", "names column 'town', which is not partitioned (partitioned: city)"),
        ("city=3,4", "names partition 4, and column 'city' has partitions 0 to 3"),
    ],
)
def test_partitions_that_the_table_has_not_are_named(text: str, says: str) -> None:
    assert wrong({"replacePartitions": text}) == []
    assert [says in p.what for p in partition_problems({"replacePartitions": text}, config())] == [True]


def test_what_is_understood_is_read_as_it_is_written_for_people() -> None:
    for keys, words in (
        ({"replacePartitions": "city=1,0"}, "the rows of partitions 0, 1 of column 'city' (segments at the edge are"),
        ({"replaceFiles": "glob:**/a*"}, "the rows of files that match glob:**/a*"),
        ({"replaceFrom": "0", "replaceUntil": "1", "replaceCrossing": "Split"}, "the rows from 1970-01-01 until "),
    ):
        assert wrong(keys) == partition_problems(keys, config()) == []
        found = read_selector(keys, config())
        assert found is not None
        assert found.words.startswith(words)
    assert read_selector({}, config()) is None
    assert wrong({}) == partition_problems({}, config()) == []
