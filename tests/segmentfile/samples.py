"""Small segments, schemas and configs that the segment file tests share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from segments.domain.tables.schema import Schema, parse_schema
from segments.domain.tables.table_config import TableConfig, parse_table_config
from segments.segmentfile import SegmentInfo, build_segment

FIXTURES = Path(__file__).parent.parent / "fixtures" / "segments"
CREATED = 1_700_000_000_000
DAY_MS = 86_400_000


def schema_of(*columns: Any, metrics: Sequence[Any] = (), times: Sequence[Any] = ()) -> Schema:
    """``("i", "INT")`` or a dict per dimension; ``("i", "INT[]")`` is multi-value."""
    return parse_schema({
        "schemaName": "t", "dimensionFieldSpecs": [_spec(c) for c in columns],
        "metricFieldSpecs": [_spec(c) for c in metrics], "dateTimeFieldSpecs": [_spec(c) for c in times],
    })  # fmt: skip


def _spec(column: Any) -> dict[str, Any]:
    if isinstance(column, dict):
        return column
    name, kind, *rest = column
    spec = {"name": name, "dataType": kind.removesuffix("[]"), "singleValueField": not kind.endswith("[]")}
    return {**spec, "format": rest[0], "granularity": "1:DAYS"} if rest else spec


def config_of(
    time: str | None = None, ingestion: dict[str, Any] | None = None, fields: Iterable[Any] = (), **index: Any
) -> TableConfig:
    """A table config with these ``tableIndexConfig`` keys."""
    return parse_table_config({
        "tableName": "t", "tableType": "OFFLINE", "segmentsConfig": {"timeColumnName": time} if time else {},
        "tableIndexConfig": index, "fieldConfigList": list(fields), "ingestionConfig": ingestion or {},
    })  # fmt: skip


def build(
    rows: dict[str, Any], schema: Schema, config: TableConfig, out: Path, name: str = "t_0", **options: Any
) -> SegmentInfo:
    """Build ``out/<name>``."""
    return build_segment(pa.table(rows), schema, config, name, out, creation_time_ms=CREATED, **options)


def all_schema() -> Schema:
    """The schema of fixture all_0: every type."""
    return parse_schema(json.loads((FIXTURES / "all_0.schema.json").read_text()))


def all_config() -> TableConfig:
    """The table config of fixture all_0."""
    return parse_table_config(json.loads((FIXTURES / "all_0.table.json").read_text()))


def all_rows() -> pa.Table:
    """The input rows of fixture all_0."""
    rows = [json.loads(line) for line in (FIXTURES / "all_0.rows.jsonl").read_text().splitlines()]
    return pa.table({name: [row.get(name) for row in rows] for name in sorted({k for row in rows for k in row})})


def tiny() -> tuple[dict[str, Any], Schema, TableConfig]:
    """Rows, schema and config of tiny_0."""
    schema = schema_of(("c", "STRING"), metrics=[("n", "LONG")], times=[("day", "INT", "1:DAYS:EPOCH")])
    config = parse_table_config({
        "tableName": "tiny", "tableType": "OFFLINE", "segmentsConfig": {"timeColumnName": "day"},
        "tableIndexConfig": {"noDictionaryColumns": ["n"]},
    })  # fmt: skip
    return {"c": ["b", "a,x", "b"], "n": [10, -1, None], "day": [19000, 19000, 19001]}, schema, config


def payloads(segment: Path) -> dict[str, str]:
    """``column.index id`` -> payload in hex."""
    from segments.segmentfile import SegmentReader

    data = (segment / "v3" / "columns.psf").read_bytes()
    return {
        f"{c}.{kind}": data[start + 8 : start + size].hex()
        for (c, kind), (start, size) in SegmentReader(segment).places().items()
    }


def hexes(text: str) -> str:
    """Hex text without blanks."""
    return text.replace(" ", "").lower()
