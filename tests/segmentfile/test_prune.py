"""Pruning never leaves out a segment that has a matching row, and does leave out those that plainly have none."""

import operator
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segments.errors import InvalidInput
from segments.segmentfile import Condition, SegmentReader, may_hold, may_match, read_info
from segments.segmentfile.columns.partition import partition_ids
from tests.segmentfile.samples import FIXTURES, build, config_of, schema_of

COMPARE = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
VALUES = {
    "LONG": st.integers(-50, 50),
    "DOUBLE": st.integers(-9, 9).map(lambda i: i / 4),
    "STRING": st.text("ab, é\uffff😀", max_size=3),
    "BYTES": st.binary(max_size=2),
    "FLOAT": st.floats(-1, 1, width=32),
}


def _java(value):
    return value.encode("utf-16-be") if isinstance(value, str) else value


@st.composite
def _question(draw):
    kind = draw(st.sampled_from(sorted(VALUES)))
    return (
        kind,
        draw(st.lists(VALUES[kind], min_size=1, max_size=6)),
        draw(st.sampled_from(sorted(COMPARE))),
        draw(VALUES[kind]),
    )


@settings(max_examples=150, deadline=None)
@given(_question(), st.booleans())
def test_a_segment_with_a_matching_row_is_never_left_out(question, raw):
    kind, rows, compare, value = question
    with tempfile.TemporaryDirectory() as folder:
        build({"x": rows}, schema_of(("x", kind)), config_of(noDictionaryColumns=["x"] if raw else []), Path(folder))
        with SegmentReader(Path(folder) / "t_0") as reader:
            there = any(COMPARE[compare](_java(v), _java(value)) for v in reader.column("x").to_pylist())
            found = may_hold(reader, Condition("x", compare, (value,)))
            assert found or not there
            if compare == "=" and not raw:
                assert found == there  # the dictionary is exact


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Condition("day", "=", (19_000,)), True),
        (Condition("day", "=", (18_999,)), False),
        (Condition("day", "<", (19_000,)), False),
        (Condition("day", ">", ("19003",)), False),
        (Condition("day", ">=", (19_003,)), True),
        (Condition("day", "IN", (1, 2)), False),
        (Condition("day", "IN", (1, 19_001)), True),
        (Condition("missing", "=", (1,)), True),
        (Condition("bd", ">", ("500",)), False),
        (Condition("s", "=", ("zebra",)), False),
        (Condition("uuid", "<", ("00000000-0000-0000-0000-000000000000",)), False),
    ],
)
def test_metadata_decide(condition, expected):
    assert may_match(read_info(FIXTURES / "all_0"), condition) is expected


def test_the_dictionary_knows_what_lies_between_min_and_max():
    with SegmentReader(FIXTURES / "all_0") as reader:
        condition = Condition("i", "=", (0,))
        assert (may_match(reader.info, condition), may_hold(reader, condition)) == (True, False)


def test_partitions_rule_out_values_of_others(tmp_path):
    partition = {"columnPartitionMap": {"k": {"functionName": "Murmur", "numPartitions": 4}}}
    info = build(
        {"k": ["a", "hello"]}, schema_of(("k", "STRING")), config_of(segmentPartitionConfig=partition), tmp_path
    )
    assert info.columns["k"].partitions == (0, 1)
    inside = ["b", "c", "d", "e", "f", "g"]  # between min and max, so only the partition decides
    for value in inside:
        [partition] = partition_ids([value], "Murmur", 4)
        assert may_match(info, Condition("k", "=", (value,))) is (partition in (0, 1))
    assert {partition_ids([v], "Murmur", 4)[0] for v in inside} - {0, 1}


def test_an_empty_segment_holds_nothing():
    info = read_info(FIXTURES / "empty_0")
    assert not may_match(info, Condition("i", "=", (1,)))


@pytest.mark.parametrize(
    "condition",
    [Condition("i", "=", ("abc",)), Condition("i", "=", ()), Condition("i", "<", (1, 2)), Condition("i", "~", (1,))],
)
def test_a_condition_that_is_none_is_refused(condition):
    with pytest.raises(InvalidInput):
        may_match(read_info(FIXTURES / "all_0"), condition)
