"""Small tables in memory, and the way of a query of several stages through scans and DuckDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from segments.dataplane.query import ResultTable, SegmentRows, execute_partial, plan_query
from segments.dataplane.query.multistage import StagesPlan, execute_stages, plan_stages, stages_of
from segments.domain.tables.schema import Schema, parse_schema


def schema_of(raw: str) -> Schema:
    """k INT, v STRING, tags STRING[], ok BOOLEAN, n INT, x DOUBLE, ts TIMESTAMP."""
    return parse_schema(
        {
            "schemaName": raw,
            "dimensionFieldSpecs": [
                {"name": "k", "dataType": "INT"},
                {"name": "v", "dataType": "STRING"},
                {"name": "tags", "dataType": "STRING", "singleValueField": False},
                {"name": "ok", "dataType": "BOOLEAN"},
            ],
            "metricFieldSpecs": [{"name": "n", "dataType": "INT"}, {"name": "x", "dataType": "DOUBLE"}],
            "dateTimeFieldSpecs": [
                {"name": "ts", "dataType": "TIMESTAMP", "format": "TIMESTAMP", "granularity": "1:DAYS"}
            ],
        }
    )


def rows_of(keys: Sequence[int], names: Sequence[str] | None = None, numbers: Sequence[int] | None = None) -> pa.Table:
    """Rows in stored types; what is not given follows from the keys."""
    return pa.table(
        {
            "k": pa.array(keys, pa.int32()),
            "v": pa.array(names if names is not None else [f"v{k}" for k in keys], pa.string()),
            "tags": pa.array([[f"t{k}", "all"] for k in keys], pa.list_(pa.string())),
            "ok": pa.array([k % 2 for k in keys], pa.int32()),
            "n": pa.array(numbers if numbers is not None else [10 * k for k in keys], pa.int32()),
            "x": pa.array([k / 2 for k in keys], pa.float64()),
            "ts": pa.array([1_356_998_400_000 + 86_400_000 * k for k in keys], pa.int64()),
        }
    )


TABLES: Mapping[str, pa.Table] = {
    "t": rows_of([1, 2, 3, 4], ["a", "b", "c", "a"]),
    "u": rows_of([1, 2, 3, 2], ["a", "b", "c", "a"]),
    "w": rows_of([1, 2, 3, 9], ["a", "b", "c", "a"]),
}


def plan(sql: str, tables: Mapping[str, pa.Table] = TABLES) -> StagesPlan:
    """Raises AssertionError for a query of one stage, QueryRejected for one that is refused."""
    statement = stages_of(sql)
    assert statement is not None
    return plan_stages(statement, {name: schema_of(name) for name in statement.tables}, {"now": "1356998400000"})


def answer(sql: str, tables: Mapping[str, pa.Table] = TABLES) -> ResultTable:
    """Each table in two segments."""
    planned, read = plan(sql, tables), {}
    for short, scan in planned.scans.items():
        one, rows = plan_query(scan.sql, scan.schema, rows=1_000_000), tables[scan.table]
        half = rows.num_rows // 2
        cuts = [rows.slice(0, half), rows.slice(half)]
        segments = [
            SegmentRows(f"s{i}", "h", cut.select([c for c in one.columns if c in cut.column_names]), cut.num_rows)
            for i, cut in enumerate(cuts)
        ]
        found = execute_partial(one, segments).rows
        read[short] = found.rename_columns([f"c{i}" for i in range(found.num_columns)])
    return execute_stages(planned, read, 10.0)
