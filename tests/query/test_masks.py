"""Rows that do not count are as if they were not there, whichever way a query takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segments.dataplane.query import SegmentRows, execute_partial, merge, plan_query
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
            mask = None if valid.all() else valid
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


def test_the_rows_that_count_keep_their_numbers() -> None:
    rows, _ = _answer("select $segmentName, $docId from t limit 100", [False, True, True, *[True] * 9], is_masked=True)
    assert [doc for name, doc in rows][:3] == [1, 2, 0]
