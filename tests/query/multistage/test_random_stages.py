"""Random joins over random tables have the rows that plain DuckDB finds over the same Arrow tables."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.query.multistage.tables import answer, rows_of

_KEYS = st.lists(st.integers(0, 6), max_size=12)
_JOINS = st.sampled_from(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
_ON = st.sampled_from(["a.k = b.k", "a.k = b.k AND a.n < b.n", "a.v = b.v", "a.k < b.k", "a.k = b.k AND b.n > 20"])
_WHERE = st.sampled_from(
    ["", " WHERE a.n > 20", " WHERE b.n <> 30", " WHERE a.n BETWEEN 10 AND 40 AND b.v IN ('v1', 'v2')",
     " WHERE b.k IS NULL", " WHERE NOT (a.n = 10) AND (b.n > 10 OR a.k = 3)", " WHERE a.k IN (SELECT k FROM w)",
     " WHERE EXISTS (SELECT 1 FROM w WHERE w.k = b.k)", " WHERE a.n NOT IN (10, 30) AND b.n >= 20"]
)  # fmt: skip
#: Each has the same meaning here and in DuckDB: sums as DOUBLE.
_SELECT = st.sampled_from(
    [
        ("a.k, a.v, b.k, b.n", ""),
        ("DISTINCT a.k, b.v", ""),
        ("a.v, COUNT(*), COUNT(b.k)", " GROUP BY a.v"),
        ("a.k, COUNT(*) FILTER (WHERE b.n > 20)", " GROUP BY a.k HAVING COUNT(*) > 1"),
        ("a.k, b.k, ROW_NUMBER() OVER (PARTITION BY a.k ORDER BY b.k, b.n, a.n, a.v, b.v)", ""),
        ("a.k, RANK() OVER (ORDER BY a.k)", ""),
        ("COUNT(DISTINCT b.v)", ""),
        ("a.k, COALESCE(b.v, 'none')", ""),
    ]
)
_SOURCES = st.sampled_from(
    ["t", "(SELECT k, v, n FROM t WHERE n < 50)", "(SELECT k, v, n FROM t UNION ALL SELECT k, v, n FROM u)"]
)


def _plain(rows: Any) -> list[tuple[str, ...]]:
    def text(value: Any) -> str:
        return str(float(value)) if isinstance(value, int | float) and not math.isnan(value) else str(value)

    return sorted(tuple(text(v) for v in row) for row in rows)


@settings(max_examples=60, deadline=None)
@given(keys=st.tuples(_KEYS, _KEYS, _KEYS), source=_SOURCES, join=_JOINS, on=_ON, where=_WHERE, select=_SELECT)
def test_random_joins_have_the_rows_of_plain_duckdb(
    keys: tuple[list[int], list[int], list[int]], source: str, join: str, on: str, where: str, select: tuple[str, str]
) -> None:
    tables = {name: rows_of(given) for name, given in zip("tuw", keys, strict=True)}
    items, rest = select
    sql = f"SELECT {items} FROM {source} a {join} u b ON {on}{where}{rest}"
    with duckdb.connect() as plain:
        for name, rows in tables.items():
            plain.register(name, rows)
        expected = plain.sql(sql).fetchall()
    assert _plain(answer(sql, tables).rows) == _plain(expected)


@settings(max_examples=20, deadline=None)
@given(keys=_KEYS, parts=st.integers(1, 4))
def test_a_part_of_with_is_the_same_wherever_it_is_named(keys: list[int], parts: int) -> None:
    tables: dict[str, pa.Table] = {"t": rows_of(keys), "u": rows_of(keys[::2])}
    chain = ", ".join(
        f"c{i} AS (SELECT k, n FROM {'t' if i == 0 else f'c{i - 1}'} WHERE k <> {i})" for i in range(parts)
    )
    sql = f"WITH {chain} SELECT x.k, y.n FROM c{parts - 1} x JOIN c0 y ON x.k = y.k JOIN u ON u.k = x.k"
    with duckdb.connect() as plain:
        for name, rows in tables.items():
            plain.register(name, rows)
        expected = plain.sql(sql).fetchall()
    assert _plain(answer(sql, tables).rows) == _plain(expected)
