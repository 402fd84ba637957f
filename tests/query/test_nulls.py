"""``$isNull.<column>``: nulls as segments record them, default values where they do not."""

from __future__ import annotations

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
    segments = []
    for number, columns in enumerate(held):
        kinds = {c: pa.bool_() if c.startswith("$") else stored_type(SCHEMA.by_name[c]) for c in columns}
        table = pa.table({c: pa.array(v, kinds[c]) for c, v in columns.items()})
        segments.append(SegmentRows(f"seg{number}", "h", table, rows))
    return list(merge(plan, [execute_partial(plan, segments)]).rows[0])


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
