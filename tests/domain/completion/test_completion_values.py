"""Names, offsets, row limits and commit plans of consuming segments."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segments.domain.realtime.commit.end import Built
from segments.domain.realtime.commit.plan import Commit, plan_commit
from segments.domain.realtime.commit.start import (
    CommitStart,
    RealtimeTable,
    consuming_record,
    consuming_row,
)
from segments.domain.realtime.flush_threshold import Committed, learned_ratio, lowered_limit, next_row_limit, row_limit
from segments.domain.realtime.llc_name import LLCName, check_llc_table, is_llc_name, parse_llc_name
from segments.domain.realtime.partition_metadata import stream_partition_metadata
from segments.domain.realtime.streams.stream_config import FlushThresholds
from segments.domain.realtime.streams.stream_offset import parse_offset
from segments.domain.segments.ideal_state import new_ideal_state, with_rows
from segments.domain.segments.segment_metadata import from_record
from segments.domain.tables.table_config import parse_table_config
from segments.errors import InvalidInput, StateConflict

NOW = 1_700_000_000_000
MB = 1 << 20


# ---- names


def test_names_are_pinots() -> None:
    assert LLCName("myTable", 0, 1, 1_465_508_537_069).text == "myTable__0__1__20160609T2142Z"
    name = parse_llc_name("myTable__4__27__20160617T2150Z")
    assert (name.raw, name.partition, name.sequence, name.creation_ms) == ("myTable", 4, 27, 1_466_200_200_000)
    assert name == LLCName("myTable", 4, 27, 1_466_200_248_000)
    assert name.next(1_466_200_248_000).text == "myTable__4__28__20160617T2150Z"


def test_names_are_ordered_by_partition_then_sequence() -> None:
    pairs = [(5, 28), (4, 27), (3, 28), (5, 26), (4, 28)]
    ordered = sorted(LLCName("t", p, s, NOW) for p, s in pairs)
    assert [(n.partition, n.sequence) for n in ordered] == sorted(pairs)
    with pytest.raises(InvalidInput):
        assert LLCName("a", 0, 0, NOW) < LLCName("b", 0, 0, NOW)


@pytest.mark.parametrize(
    "text",
    ["a__abc__1__3__4__54__g__gg___h", "t__0__1", "t__0__1__x", "t__x__1__20160609T2142Z", "t__0__1__20161309T2142Z",
     "t__00__1__20160609T2142Z",
     "t___0__1__20160609T2142Z", "__0__1__20160609T2142Z", "t__0__1__20160609T2142Z.x", "t__-1__1__20160609T2142Z", ""],
)  # fmt: skip
def test_other_names_are_none(text: str) -> None:
    assert not is_llc_name(text)


@given(
    st.from_regex(r"[a-z][a-z0-9_.]{0,8}[a-z0-9]", fullmatch=True),
    st.integers(0, 99_999),
    st.integers(0, 99_999),
    st.integers(0, 4 * 10**12),
)
def test_names_are_read_back(raw: str, partition: int, sequence: int, ms: int) -> None:
    if "__" in raw:
        with pytest.raises(InvalidInput):
            check_llc_table(raw)
        return
    name = LLCName(raw, partition, sequence, ms)
    assert parse_llc_name(name.text) == name


# ---- offsets


def test_offsets_are_values_of_their_stream() -> None:
    assert parse_offset("kafka", "9") < parse_offset("kafka", "10")
    assert parse_offset("redis", "9-9") < parse_offset("redis", "10-0") < parse_offset("redis", "10-1")
    assert parse_offset("redis", "10") == parse_offset("redis", "10-0")
    assert parse_offset("redis", "10").text == "10"
    assert (parse_offset("kafka", "7").after().text, parse_offset("redis", "5").after().text) == ("8", "5-1")
    with pytest.raises(InvalidInput):
        assert parse_offset("kafka", "1") < parse_offset("redis", "1")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("kafka", "1-0"),
        ("kafka", "-1"),
        ("kafka", ""),
        ("kafka", "\u0663"),
        ("kafka", "9" * 30),
        ("redis", "a-b"),
        ("redis", "1-"),
        ("redis", "1-2-3"),
        ("kinesis", "1"),
    ],
)
def test_nonsense_is_no_offset(kind: str, text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_offset(kind, text)


# ---- row limits


@pytest.mark.parametrize(
    ("flush", "share", "limit"),
    [
        (FlushThresholds(rows=1000), 2, 500),
        (FlushThresholds(rows=1000, segment_rows=7), 2, 500),
        (FlushThresholds(segment_rows=7), 4, 7),
        (FlushThresholds(), 2, 2_500_000),
        (FlushThresholds(rows=0), 2, 100_000),
        (FlushThresholds(segment_bytes=MB, initial_rows=5), 2, 5),
    ],
)
def test_the_first_limit(flush: FlushThresholds, share: int, limit: int) -> None:
    assert row_limit(flush, share) == limit


def test_the_ratio_is_learned_slowly() -> None:
    first = learned_ratio(Committed(30_000, 200_000, 30_000))
    assert first == pytest.approx(0.15)
    assert learned_ratio(Committed(50_000, 200_000, 50_000, first)) == pytest.approx(0.16)
    assert learned_ratio(Committed(50_000, 200_000, 50_000, first, reason="forceCommitMessageReceived")) == first


@pytest.mark.parametrize(
    ("last", "limit"),
    [
        (Committed(100_000, 40 * MB, 100_000), 150_000),
        (Committed(100_000, 400 * MB, 100_000), 50_000),
        (Committed(100_000, 200 * MB, 100_000), 100_000),
        (Committed(50_000, 40 * MB, 100_000), 55_000),
        (Committed(50_000, 40 * MB, 100_000, took_ms=12 * 3_600_000), 27_500),
        (Committed(10, 100, 100_000), 10_000),
        (Committed(0, 0, 70_000), 70_000),
        (Committed(5_000, MB, 70_000, reason="forceCommitMessageReceived"), 70_000),
    ],
)  # fmt: skip
def test_the_next_limit_follows_the_size(last: Committed, limit: int) -> None:
    flush = FlushThresholds(rows=0, segment_bytes=200 * MB)
    assert next_row_limit(flush, 4, last) == pytest.approx(limit, rel=0.01)
    assert next_row_limit(FlushThresholds(segment_rows=7), 4, last) == 7


def test_the_variance_spreads_tuned_limits_only() -> None:
    flush, last = FlushThresholds(rows=0, segment_bytes=200 * MB, variance=0.2), Committed(100_000, 200 * MB, 100_000)
    assert [round(next_row_limit(flush, 1, last, c), -3) for c in (0.0, 0.5, 0.9999)] == [80_000, 100_000, 120_000]


@pytest.mark.parametrize(
    ("rows", "limit", "after"), [(20, 100, 10), (100, 60, 30), (100, 200, 50), (20, 10, 10), (1, 1, 1), (100, 0, 50)]
)
def test_a_limit_is_lowered_once_per_failure(rows: int, limit: int, after: int) -> None:
    assert lowered_limit(rows, limit) == after
    assert lowered_limit(rows, after) == after


# ---- plans


def test_partition_metadata_needs_exactly_one_column() -> None:
    def config(**columns: str) -> str | None:
        body = {"columnPartitionMap": {c: {"functionName": f, "numPartitions": 99} for c, f in columns.items()}}
        parsed = parse_table_config(
            {"tableName": "t", "tableType": "REALTIME", "tableIndexConfig": {"segmentPartitionConfig": body}}
        )
        return stream_partition_metadata(parsed, 5, 8)

    assert json.loads(config(memberId="Murmur") or "") == {
        "columnPartitionMap": {"memberId": {"functionName": "Murmur", "numPartitions": 8, "partitions": [5]}}
    }
    assert config() is None
    assert config(a="Murmur", b="Modulo") is None


def test_a_plan_with_too_few_servers_goes_on_with_those_it_has() -> None:
    name = LLCName("t", 0, 0, NOW)
    ideal = with_rows(new_ideal_state("t_REALTIME", 2), {name.text: consuming_row(["a", "b"])})
    old = from_record(
        consuming_record(name, start_offset="0", replicas=2, flush_rows=5, now_ms=NOW, partition_metadata="{}")
    )
    table = RealtimeTable("t_REALTIME", 2, 1, FlushThresholds(segment_rows=5), ["a"])
    plan = plan_commit(Commit(CommitStart(name, "9"), "", Built(1, 10, "v3", 7)), table, old, ideal, NOW)
    assert plan.successor is not None
    assert plan.ideal.maps[plan.successor.id] == {"a": "CONSUMING", "b": "CONSUMING"}
    assert plan.successor.simple["segment.partition.metadata"] == "{}"
    assert "segment.partition.metadata" not in plan.record.simple
    with pytest.raises(StateConflict):
        plan_commit(
            Commit(CommitStart(name, "9"), "", Built(1, 10, "v3", 7)), table, from_record(plan.record), plan.ideal, NOW
        )
