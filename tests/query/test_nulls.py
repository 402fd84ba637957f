"""``$isNull.<column>``: nulls as segments record them, default values where they do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from segments.dataplane.query import SegmentRows, execute_partial, merge, plan_query
from segments.dataplane.query.scan import stored_type
from segments.expressions.query_errors import QueryRejected
from tests.query.samples import SCHEMA


def nulls(column: str, *held: dict[str, list[Any]], rows: int = 3, recorded: bool = False) -> list[Any]:
    """(rows, nulls) over segments that hold these columns of ``rows`` rows."""
    sql = f"""select count(*), count(*) filter (where "$isNull.{column}") from t"""
    plan = plan_query(sql, SCHEMA, options={"nullsAreRecorded": str(recorded).lower()})
    return list(merge(plan, [execute_partial(plan, segments_of(held, rows))]).rows[0])


def segments_of(held: Sequence[dict[str, list[Any]]], rows: int) -> list[SegmentRows]:
    """One of each of these columns."""
    segments = []
    for number, columns in enumerate(held):
        kinds = {c: pa.bool_() if c.startswith("$") else stored_type(SCHEMA.by_name[c]) for c in columns}
        table = pa.table({c: pa.array(v, kinds[c]) for c, v in columns.items()})
        segments.append(SegmentRows(f"seg{number}", "h", table, rows))
    return segments


def test_a_recorded_null_vector_counts_and_a_stored_default_next_to_it_does_not() -> None:
    assert nulls("city", {"city": ["null", "null", "x"], "$isNull.city": [True, False, False]}) == [3, 1]  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("city", ["null", "x", "null"]),
        ("n", [0, 5, 0]),
        ("f", [0.0, 1.5, 0.0]),
        ("ok", [0, 1, 0]),
        ("raw", [b"", b"1", b""]),
        ("tags", [["null"], ["null", "x"], ["null"]]),
        ("nums", [[-(2**31)], [1, 2], [-(2**31)]]),
        ("big", ["0", "7", "0"]),
        ("ts", [0, 1, 0]),
    ],
)
def test_without_null_handling_every_default_counts_as_null(column: str, values: list[Any]) -> None:
    assert nulls(column, {column: values}) == [3, 2]
    assert nulls(column, {column: values}, recorded=True) == [3, 0]


def test_a_segment_that_lacks_the_column_is_null_throughout() -> None:
    assert nulls("city", {"city": ["a", "b", "c"]}, {}) == [6, 3]
    assert nulls("city", {"city": ["a", "b", "c"]}, {}, recorded=True) == [6, 3]


def test_an_unknown_column_is_refused_by_its_name() -> None:
    with pytest.raises(QueryRejected, match="nowhere"):
        plan_query("""select count(*) filter (where "$isNull.nowhere") from t""", SCHEMA)


def are_null(where: str, *held: dict[str, list[Any]], rows: int = 3) -> int:
    """Rows of segments that hold these columns for which the condition is true."""
    plan = plan_query(f"select count(*) from t where {where}", SCHEMA)
    parts = [execute_partial(plan, segments_of(held, rows))]
    return int(merge(plan, parts).rows[0][0])


@pytest.mark.parametrize("name", ["city", "t.city", "CITY", "(city)"])
def test_is_null_means_what_segments_record(name: str) -> None:
    held: dict[str, list[Any]] = {
        "city": ["null", "null", "x"], "$isRecordedNull.city": [True, False, False], "n": [1, 2, 3]
    }  # fmt: skip
    assert are_null(f"{name} is null", held) == 1
    assert are_null(f"{name} is not null", held) == 2
    assert are_null(f"not {name} is null and n > 2", held) == 1
    assert are_null(f"{name} is null or n = 3", held) == 2


def test_without_null_handling_no_row_is_null_also_where_the_default_stands() -> None:
    assert are_null("city is null", {"city": ["null", "null", "x"]}) == 0
    assert are_null("city is not null", {"city": ["null", "null", "x"]}) == 3


def test_a_segment_that_lacks_the_column_is_null_for_is_null_too() -> None:
    assert are_null("city is null", {"n": [1, 2, 3]}) == 3


def test_what_is_no_column_is_never_null() -> None:
    held: dict[str, list[Any]] = {"n": [1, 2, 3], "$isRecordedNull.n": [True, True, False]}
    assert are_null("n + 1 is null", held) == 0
    assert are_null("$docId is null", held) == 0
    assert are_null('"$isNull.n" is null', held) == 0
    plan = plan_query("select n is null, count(*) from t group by n is null order by 2", SCHEMA)
    answer = merge(plan, [execute_partial(plan, segments_of((held,), 3))])
    assert [list(row) for row in answer.rows] == [[False, 1], [True, 2]]
    plan = plan_query("select n from t group by n having n is null", SCHEMA)
    assert list(merge(plan, [execute_partial(plan, segments_of((held,), 3))]).rows) == []
