"""Few rows are grouped as Arrow groups many: the same groups, values and types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segments.dataplane.query.arrow import few_rows, groups

_PARTS = [("count", ""), ("sum", "c"), ("min", "c"), ("max", "c")]
_WHOLE = st.integers(-(2**31), 2**31 - 1)
_ROWS = st.lists(st.tuples(st.none() | st.sampled_from("abcd"), _WHOLE), min_size=1, max_size=40)


def _chunked(values: list[Any], kind: pa.DataType, split: int) -> Any:
    return pa.chunked_array([pa.array(values[:split], kind), pa.array(values[split:], kind)])


@given(rows=_ROWS, split=st.integers(0, 40), kind=st.sampled_from([pa.int32(), pa.int64()]))
def test_few_rows_give_what_arrow_gives(rows: list[tuple[str | None, int]], split: int, kind: pa.DataType) -> None:
    keys, values = (list(column) for column in zip(*rows, strict=True))
    table = pa.table({"k": _chunked(keys, pa.string(), split), "c": _chunked(values, kind, split)})
    found = few_rows.group_few(table, "k", _PARTS)
    assert found is not None
    expected = table.group_by("k", use_threads=False).aggregate([([], "count_all"), *(("c", f) for f, _ in _PARTS[1:])])
    assert [str(t) for t in found.schema.types] == [str(t) for t in expected.schema.types]
    assert found.to_pylist() == expected.rename_columns(found.column_names).to_pylist()


@pytest.mark.parametrize(
    "values",
    [pa.array([1.5, 2.5]), pa.array([1, None]), pa.array([True, False])],
    ids=["of DOUBLE", "with a null", "of BOOLEAN"],
)
def test_values_that_are_no_whole_numbers_are_left_to_arrow(values: Any) -> None:
    assert few_rows.group_few(pa.table({"k": ["a", "b"], "c": values}), "k", [("min", "c")]) is None


@pytest.mark.parametrize("rows", [few_rows.MOST, few_rows.MOST + 1])
def test_many_rows_are_left_to_arrow(rows: int) -> None:
    table = pa.table({"k": ["a"] * rows})
    assert (few_rows.group_few(table, "k", [("count", "")]) is None) == (rows > few_rows.MOST)
    assert groups.group(table, ["k"], [("count", "")]).to_pylist() == [{"k0": "a", "p0": rows}]


def test_a_key_with_a_dictionary_of_its_own_is_left_to_arrow() -> None:
    table = pa.table({"k": pa.array(["a", None, "a"]).dictionary_encode()})
    assert few_rows.group_few(table, "k", [("count", "")]) is None
