"""A small table in four segments on two servers, and the way of a query through plan, wire and merge."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from segments.dataplane.query import (
    PartialResult,
    QueryPlan,
    ResultTable,
    SegmentRows,
    decode_partial,
    encode_partial,
    execute_partial,
    merge,
    plan_query,
)
from segments.dataplane.query.scan import stored_type
from segments.domain.tables.schema import Schema, parse_schema

SCHEMA = parse_schema(
    {
        "schemaName": "t",
        "dimensionFieldSpecs": [
            {"name": "v", "dataType": "STRING"},
            {"name": "city", "dataType": "STRING"},
            {"name": "tags", "dataType": "STRING", "singleValueField": False},
            {"name": "nums", "dataType": "INT", "singleValueField": False},
            {"name": "ok", "dataType": "BOOLEAN"},
            {"name": "raw", "dataType": "BYTES"},
            {"name": "doc", "dataType": "JSON"},
            {"name": "big", "dataType": "BIG_DECIMAL"},
        ],
        "metricFieldSpecs": [
            {"name": "n", "dataType": "INT"},
            {"name": "l", "dataType": "LONG"},
            {"name": "f", "dataType": "FLOAT"},
            {"name": "d", "dataType": "DOUBLE"},
        ],
        "dateTimeFieldSpecs": [
            {"name": "ts", "dataType": "TIMESTAMP", "format": "TIMESTAMP", "granularity": "1:MILLISECONDS"},
            {"name": "ms", "dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:MILLISECONDS"},
        ],
    }
)
#: 2024-02-29 12:34:56.789 UTC
BASE = 1_709_210_096_789
ROWS: list[dict[str, Any]] = [
    {
        "v": f"s{i // 3}",
        "city": ["Berlin", "Paris", "berlin", "Rome's"][i % 4],
        "tags": [["x"], ["x", "y"], ["z"]][i % 3],
        "nums": [i, i + 1],
        "ok": i % 2,
        "raw": bytes([i, 255]),
        "doc": f'{{"i":{i}}}',
        "big": f"{i}.50",
        "n": i,
        "l": 10**12 + i,
        "f": i / 10,
        "d": i * 1.5,
        "ts": BASE + i * 3_600_000,
        "ms": BASE + i * 86_400_000,
    }
    for i in range(12)
]


def segments_for(
    plan: QueryPlan, rows: list[dict[str, Any]] | None = None, schema: Schema = SCHEMA
) -> list[SegmentRows]:
    """Four segments of equal size on hosts h0 and h1, with just the columns the plan asks for."""
    rows = ROWS if rows is None else rows
    size = max(1, (len(rows) + 3) // 4)
    found = []
    for i in range(4):
        part = rows[i * size : (i + 1) * size]
        columns = {
            c: pa.array([r[c] for r in part], stored_type(schema.by_name[c]))
            for c in plan.columns
            if not c.startswith("$")
        }
        found.append(SegmentRows(f"seg{i}", f"h{i % 2}", pa.table(columns), len(part)))
    return found


def over_two_servers(sql: str, rows: list[dict[str, Any]] | None = None) -> tuple[ResultTable, list[PartialResult]]:
    """The answer when two servers hold two segments each; every partial goes over the wire."""
    plan = plan_query(sql, SCHEMA)
    segments = segments_for(plan, rows)
    partials = [decode_partial(encode_partial(execute_partial(plan, half))) for half in (segments[:2], segments[2:])]
    return merge(plan_query(sql, SCHEMA), partials), partials


def over_one_server(sql: str, rows: list[dict[str, Any]] | None = None) -> ResultTable:
    """The answer when one server holds all segments."""
    plan = plan_query(sql, SCHEMA)
    return merge(plan, [execute_partial(plan, segments_for(plan, rows))])


def over_no_server(sql: str) -> ResultTable:
    """The answer of a table without segments."""
    return merge(plan_query(sql, SCHEMA), [])
