"""Rows that do not count are as if they were not there, whichever way a query takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segments.dataplane.query import QueryPlan, RowMask, SegmentRows, execute_partial, merge, plan_query
from segments.dataplane.query.arrow import groups, simple_group
from segments.dataplane.query.arrow.block_values import BlockValues
from segments.dataplane.query.arrow.row_mask import ManyMasks
from segments.dataplane.query.arrow.totals import Totals
from tests.query.samples import SCHEMA, segments_for

QUERIES = [
    "select count(*) from t",
    "select count(*), sum(n), min(d), max(l) from t",
    "select city, count(*), sum(n) from t group by city order by city limit 100",
    "select city, count(*) from t where n > 3 group by city order by city limit 100",
    "select distinct city from t order by city limit 100",
    "select distinct city from t where n > 3 order by city limit 100",
    "select distinctcount(v), sum(n) + count(*) from t",
    "select tags, count(*) from t group by tags order by tags limit 100",
    "select n, v from t limit 100",
    "select n, v from t limit 4",
    "select n * 2, upper(v) from t limit 100",
    "select n, v from t where n between 2 and 9 or city = 'Paris' limit 100",
    "select n, v from t order by d desc limit 5",
    "select n from t where city <> 'Paris' order by n limit 3, 4",
    "select $segmentName, $docId from t limit 100",
    "select $segmentName, count(*) from t group by $segmentName order by $segmentName",
]


def _answer(sql: str, kept: list[bool], *, is_masked: bool) -> tuple[list[list[Any]], tuple[int, int]]:
    plan = plan_query(sql, SCHEMA)
    segments = []
    for at, segment in enumerate(segments_for(plan)):
        valid = np.array(kept[at * 3 : at * 3 + 3])
        if is_masked:
            mask = None if valid.all() else RowMask(valid)
            segments.append(SegmentRows(segment.name, segment.host, segment.rows, segment.num_docs, valid=mask))
        else:
            rows = segment.rows.filter(valid) if segment.rows.num_columns else segment.rows
            segments.append(SegmentRows(segment.name, segment.host, rows, int(valid.sum())))
    part = execute_partial(plan, segments)
    return list(merge(plan, [part]).rows), (part.docs_scanned, part.segments_matched)


@pytest.mark.parametrize("sql", [q for q in QUERIES if "$docId" not in q])
@settings(max_examples=15, deadline=None)
@given(kept=st.lists(st.booleans(), min_size=12, max_size=12))
def test_a_masked_row_is_as_if_it_were_not_there(sql: str, kept: list[bool]) -> None:
    assert _answer(sql, kept, is_masked=True) == _answer(sql, kept, is_masked=False)


@settings(max_examples=60, deadline=None)
@given(
    turns=st.lists(st.lists(st.booleans(), min_size=12, max_size=12), min_size=1, max_size=3),
    never_change=st.lists(st.booleans(), min_size=4, max_size=4),
    odd=st.sampled_from([1.5, float("inf"), float("nan")]),
)
def test_what_is_kept_of_segments_is_what_counts_now(
    turns: list[list[bool]], never_change: list[bool], odd: float
) -> None:
    """Masks come and go; queries of one mask are asked twice, and another one lacks a column."""
    plan = plan_query("select sum(d), count(*), min(d), avg(l), max(n), max($docId), sum(n) from t", SCHEMA)
    found = list(segments_for(plan))
    found[0] = replace(found[0], rows=found[0].rows.drop_columns(["l"]))
    values = pa.array([odd, *found[1].rows.column("d").to_pylist()[1:]], pa.float64())
    found[1] = replace(found[1], rows=found[1].rows.drop_columns(["d"]).append_column("d", values))
    totals = [Totals() if fixed else None for fixed in never_change]
    for kept in turns:
        masks = [None if all(own) else RowMask(np.array(own)) for own in (kept[at : at + 3] for at in range(0, 12, 3))]
        masked = [replace(s, valid=mask) for s, mask in zip(found, masks, strict=True)]
        known = [replace(s, totals=own) for s, own in zip(masked, totals, strict=True)]
        wanted = str(list(merge(plan, [execute_partial(plan, masked)]).rows))
        assert [str(list(merge(plan, [execute_partial(plan, known)]).rows)) for _ in range(2)] == [wanted] * 2


def test_what_was_computed_of_a_segment_is_not_computed_again_until_other_rows_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan, scanned = plan_query("select max(d) from t", SCHEMA), list[str]()
    segments, scan = [replace(s, totals=Totals()) for s in segments_for(plan)], simple_group.scan_table

    def counting(plan: QueryPlan, read: list[SegmentRows], **more: Any) -> pa.Table:
        scanned.extend(s.name for s in read)
        return scan(plan, read, **more)

    def whole(kept: BlockValues, *given: Any) -> float | None:
        scanned.append("by blocks")
        return by_blocks(kept, *given)

    by_blocks = BlockValues.whole
    monkeypatch.setattr(simple_group, "scan_table", counting)
    monkeypatch.setattr(BlockValues, "whole", whole)
    for _ in range(3):
        execute_partial(plan, segments)
    segments[1] = replace(segments[1], valid=RowMask(np.array([True, False, True])))
    for _ in range(3):
        execute_partial(plan, segments)
    assert scanned == [*(s.name for s in segments), "by blocks"]


def test_the_rows_that_count_keep_their_numbers() -> None:
    rows, _ = _answer("select $segmentName, $docId from t limit 100", [False, True, True, *[True] * 9], is_masked=True)
    assert [doc for name, doc in rows][:3] == [1, 2, 0]


@given(
    pieces=st.lists(st.integers(1, 90), min_size=1, max_size=4),
    hidden=st.sampled_from(["none", "few", "most", "all", "first half"]),
    odd=st.sampled_from([1.0, float("inf"), float("nan")]),
    seed=st.integers(0, 1000),
)
def test_sums_over_the_rows_that_count_are_those_of_a_copy_of_them(
    pieces: list[int], hidden: str, odd: float, seed: int
) -> None:
    """Also where chunks of columns and segments end in different places, and where a hidden value is not finite."""
    rows, random = sum(pieces), np.random.default_rng(seed)
    share = {"none": 1.0, "few": 0.9, "most": 0.1, "all": 0.0, "first half": 0.0}[hidden]
    flags = random.random(rows) < share
    flags[rows // 2 :] |= hidden == "first half"
    numbers = np.where(flags, random.integers(-9, 9, rows).astype(float), odd)
    ends = np.cumsum(pieces)
    chunks = [pa.array(part) for part in np.split(numbers, ends[:-1])]
    columns = {"a": pa.chunked_array(chunks), "k": pa.array(random.integers(0, 3, rows)).cast(pa.string())}
    masks = ManyMasks([RowMask(flags[: rows // 3]), RowMask(flags[rows // 3 :])], [rows // 3, rows - rows // 3])
    parts = [("count", ""), ("sum", "a"), ("min", "a"), ("max", "a")]
    copy = pa.table(columns).filter(pa.array(flags))
    assert groups.group_counting(columns, masks, [], parts) == groups.group(copy, [], parts)
    by_key = groups.group_counting(columns, masks, ["k"], parts).sort_by("k0")
    assert by_key.to_pylist() == groups.group(copy, ["k"], parts).sort_by("k0").to_pylist()


def test_a_value_that_counts_and_is_not_finite_stays_in_the_sum() -> None:
    masks = ManyMasks([RowMask(np.array([True, False, True, True, True]))], [5])
    column = {"a": pa.chunked_array([pa.array([1.0, float("nan"), float("inf"), 2.0, 3.0])])}
    assert groups.group_counting(column, masks, [], [("sum", "a")]).column("p0").to_pylist() == [float("inf")]


@given(flags=st.lists(st.booleans(), max_size=60), wanted=st.integers(0, 9), repeats=st.sampled_from([1, 50, 500]))
def test_a_prefix_is_the_shortest_one_with_so_many_rows(flags: list[bool], wanted: int, repeats: int) -> None:
    mask = RowMask(np.repeat(np.array(flags, np.bool_), repeats))
    size = mask.prefix_with(wanted)
    assert mask.first(size).count == min(wanted, mask.count)
    assert size == len(mask) or mask.first(max(size - 1, 0)).count == max(wanted - 1, 0)


@pytest.mark.parametrize(
    ("values", "least", "greatest"),
    [
        ([float("nan"), 2.0, -3.0, 9.0], -3.0, 2.0),
        ([float("-inf"), float("inf"), 1.0, 9.0], float("-inf"), float("inf")),
        ([float("inf"), float("inf"), float("inf"), 1.0], float("inf"), float("inf")),
        ([-0.5, 0.0, 0.25, -9.0], -0.5, 0.25),
    ],
)
def test_extremes_are_those_of_the_rows_that_count(values: list[float], least: float, greatest: float) -> None:
    masks = ManyMasks([RowMask(np.array([True, True, True, False]))], [4])
    column = {"a": pa.chunked_array([pa.array(values)])}
    found = groups.group_counting(column, masks, [], [("min", "a"), ("max", "a")])
    assert found.to_pylist() == [{"p0": least, "p1": greatest}]


@given(flags=st.lists(st.booleans(), min_size=1, max_size=60), wanted=st.integers(0, 9))
def test_the_first_rows_of_a_segment_keep_their_doc_ids(flags: list[bool], wanted: int) -> None:
    rows = pa.table({"a": pa.array(range(len(flags)), pa.int64())})
    found = SegmentRows("s", "h", rows, valid=RowMask(np.array(flags))).first(wanted)
    kept = found.rows.column("a").to_numpy()[found.valid.flags if found.valid is not None else slice(None)]
    assert kept.tolist() == [n for n, flag in enumerate(flags) if flag][:wanted]
    assert found.rows.num_rows == 0 or found.rows.column("a")[0].as_py() == found.first_doc
