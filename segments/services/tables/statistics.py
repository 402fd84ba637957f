"""Sizes and row counts of a table in Pinot's JSON form: sizes as live servers report them, the rest from
the records.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from segments.errors import PinotAdminError
from segments.names import OFFLINE, TableName
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import observe
from segments.services.segments.segments import read_records
from segments.store.records.instances import instance_configs, live_instances

log = logging.getLogger(__name__)

#: Asks the server at an address for {segment: bytes on its disk} of a table (typed name).
SizeReader = Callable[[str, str], Mapping[str, int]]


def table_size(ctx: Context, tables: list[TableName], read_sizes: SizeReader) -> dict[str, Any]:
    """GET /tables/{t}/size. A replica that does not report counts as missing; its size is estimated from the others."""
    parts = {t.type: _size_of_type(ctx, t, read_sizes) for t in tables}
    reported = sum(max(p["reportedSizeInBytes"], 0) for p in parts.values())
    estimated = sum(max(p["estimatedSizeInBytes"], 0) for p in parts.values())
    return {
        "tableName": tables[0].raw,
        "reportedSizeInBytes": reported,
        "estimatedSizeInBytes": estimated,
        "offlineSegments": parts.get(OFFLINE),
        "realtimeSegments": next((p for kind, p in parts.items() if kind != OFFLINE), None),
    }


def table_metadata(ctx: Context, table: TableName) -> dict[str, Any]:
    """GET /tables/{t}/metadata: rows, segments and bytes over all segments of the ideal state, each counted once."""
    records = read_records(ctx, table, sorted(observe(ctx, table).ideal.maps))
    rows = sum(m.total_docs or 0 for m in records.values())
    size = sum(m.size_bytes or 0 for m in records.values())
    empty: dict[str, Any] = {
        k: {} for k in ("columnLengthMap", "columnCardinalityMap", "maxNumMultiValuesMap", "columnIndexSizeMap")
    }
    return {"tableName": table.typed, "diskSizeInBytes": size, "numSegments": len(records), "numRows": rows, **empty}


def _size_of_type(ctx: Context, table: TableName, read_sizes: SizeReader) -> dict[str, Any]:
    ideal = observe(ctx, table).ideal.maps
    reports = _reports(ctx, table, {i for row in ideal.values() for i in row}, read_sizes)
    segments = {s: _segment_size(s, row, reports) for s, row in sorted(ideal.items())}
    return {
        "reportedSizeInBytes": sum(max(s["reportedSizeInBytes"], 0) for s in segments.values()),
        "estimatedSizeInBytes": sum(max(s["estimatedSizeInBytes"], 0) for s in segments.values()),
        "missingSegments": sum(1 for s in segments.values() if s["reportedSizeInBytes"] < 0),
        "segments": segments,
    }


def _segment_size(segment: str, row: Mapping[str, str], reports: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """-1 marks what is not reported, as in Pinot."""
    sizes = {i: reports.get(i, {}).get(segment, -1) for i in sorted(row)}
    known = [size for size in sizes.values() if size >= 0]
    return {
        "reportedSizeInBytes": sum(known) if known else -1,
        "estimatedSizeInBytes": sum(known) + max(known) * (len(sizes) - len(known)) if known else -1,
        "serverInfo": {i: {"segmentName": segment, "diskSizeInBytes": size} for i, size in sizes.items()},
    }


def _reports(
    ctx: Context, table: TableName, instances: set[str], read_sizes: SizeReader
) -> dict[str, Mapping[str, int]]:
    configs, live = instance_configs(ctx.store), live_instances(ctx.store)
    reports: dict[str, Mapping[str, int]] = {}
    for instance in sorted(i for i in instances if i in live and i in configs):
        try:
            reports[instance] = read_sizes(configs[instance].admin_url, table.typed)
        except PinotAdminError as error:
            log.warning("%s does not report the sizes of %s: %s", instance, table, error)
    return reports
