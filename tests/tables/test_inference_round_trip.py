"""Values of a data type that are written to a file come back in that type, whatever the values are."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
from hypothesis import given, settings
from hypothesis import strategies as st

from segments.datatypes.convert import convert
from segments.datatypes.inference.columns import find_columns
from segments.domain.tables.design.found_column import FoundColumn
from segments.domain.tables.design.new_documents import new_config_body, new_schema_body
from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import check_against_schema, parse_table_config

_words = st.text(st.characters(categories=("L",), max_codepoint=0x2FF), min_size=1, max_size=12).filter(
    lambda t: t.lower() not in ("true", "false", "nan", "null", "infinity", "inf")
)
_moments = st.datetimes(datetime(1971, 1, 2), datetime(2070, 1, 1)).map(lambda d: d.replace(microsecond=0))
#: Type -> values, how they are written, and what they are when they have been converted to it.
KINDS: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], str], Callable[[Any], Any]]] = {
    "INT": (st.integers(-(2**30) + 1, 2**30 - 1), str, int),
    "LONG": (st.integers(2**31, 2**63 - 1) | st.integers(-(2**63), -(2**31)), str, int),
    "BIG_DECIMAL": (st.integers(2**63, 2**100), str, str),
    "DOUBLE": (st.floats(allow_nan=False, allow_infinity=False).map(lambda v: v + 0.0), repr, float),
    "BOOLEAN": (st.booleans(), lambda v: str(v).lower(), int),
    "STRING": (_words, str, str),
    "TIMESTAMP": (
        _moments,
        lambda v: v.isoformat() + "Z",
        lambda v: int(v.replace(tzinfo=UTC).timestamp() * 1000),
    ),
}


def columns_of(name: str, texts: list[str | None]) -> tuple[FoundColumn, Any]:
    values = pa.array(texts, pa.string())
    [found] = find_columns(pa.table({name: values}), {name: name}, is_text=True, multi_value=";")
    return found, values


@settings(max_examples=120)
@given(st.sampled_from(sorted(KINDS)), st.data())
def test_values_come_back_in_the_type_that_was_found(kind: str, data: st.DataObject) -> None:
    strategy, write, stored = KINDS[kind]
    values = data.draw(st.lists(strategy, min_size=1, max_size=30))
    nulls = data.draw(st.integers(0, 3))
    found, texts = columns_of("v", [*map(write, values), *[None] * nulls])
    assert (found.data_type, found.nulls, found.rows) == (kind, nulls, len(values) + nulls)
    assert convert(texts, kind).to_pylist() == [*map(stored, values), *[None] * nulls]


@settings(max_examples=60)
@given(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=6), st.data())
def test_the_suggested_documents_always_make_a_table(kinds: list[str], data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 8))
    columns = []
    for number, kind in enumerate(kinds):
        strategy, write, _ = KINDS[kind]
        column: list[str | None] = [write(data.draw(strategy)) for _ in range(rows)]
        columns.append(columns_of(f"c{number}_time" if number % 2 else f"c{number}", column)[0])
    schema = parse_schema(new_schema_body("t", columns))
    config = parse_table_config(new_config_body("t", columns))
    check_against_schema(config, schema)
    assert [f.name for f in schema.fields if f.name == config.time_column] == (
        [config.time_column] if config.time_column else []
    )


@settings(max_examples=60)
@given(st.lists(st.lists(_words, min_size=1, max_size=4), min_size=2, max_size=20))
def test_lists_in_cells_are_found_by_their_delimiter(cells: list[list[str]]) -> None:
    out = io.StringIO()
    csv.writer(out).writerows([["v"], *([";".join(cell)] for cell in cells)])
    texts = pacsv.read_csv(io.BytesIO(out.getvalue().encode())).column("v").cast(pa.string())
    [found] = find_columns(pa.table({"v": texts}), {"v": "v"}, is_text=True, multi_value=";")
    is_list = sum(len(cell) > 1 for cell in cells) >= max(len(cells) * 0.1, 1)
    assert found.multi_value == is_list
