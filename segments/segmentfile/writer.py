"""Builds a segment directory from rows; same rows, schema, config and name give the same bytes (segment-format.md 2 to 4)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from segments.domain.schema import FieldSpec, Schema
from segments.domain.table_config import TableConfig
from segments.errors import InvalidInput
from segments.names import check_segment_name
from segments.segmentfile.columnwriter import WrittenColumn, write_column
from segments.segmentfile.crc import java_order
from segments.segmentfile.info import SegmentInfo, parse_info
from segments.segmentfile.layout import V1, V3, LayoutWriter, replacing
from segments.segmentfile.properties import Value
from segments.segmentfile.settings import column_settings
from segments.segmentfile.timecolumn import TIME_RANGE_MS, check_times, segment_times
from segments.segmentfile.transform import Mask, transform_table, uses_null_vector

_KINDS: Final = (("dimension", "DIMENSION"), ("metric", "METRIC"), ("datetime", "DATE_TIME"))
_MAX_ROWS: Final = 2**31 - 1


def build_segment(
    rows: pa.Table,
    schema: Schema,
    config: TableConfig,
    name: str,
    out_dir: Path,
    *,
    creation_time_ms: int,
    custom: Mapping[str, str] | None = None,
    now_ms: int | None = None,
    realtime_offsets: tuple[str, str] | None = None,
) -> SegmentInfo:
    """Convert ``rows`` and write ``out_dir/<name>/``, in the layout that the table asks for (v3; v1).

    A directory of that name is replaced only once all is written.
    ``now_ms`` (default: the creation time) stands for null times and an empty segment's time. ``realtime_offsets`` are start and end
    offset of a segment consumed from a stream. Raises InvalidInput for a bad name, value or time.
    """
    now = creation_time_ms if now_ms is None else now_ms
    table, masks = transform_table(rows, schema, config, now_ms=now)
    return write_stored(
        table,
        masks,
        schema,
        config,
        name,
        out_dir,
        creation_time_ms=creation_time_ms,
        custom=custom,
        now_ms=now,
        realtime_offsets=realtime_offsets,
    )


def write_stored(
    table: pa.Table,
    masks: Mapping[str, Mask],
    schema: Schema,
    config: TableConfig,
    name: str,
    out_dir: Path,
    *,
    creation_time_ms: int,
    custom: Mapping[str, str] | None = None,
    now_ms: int | None = None,
    realtime_offsets: tuple[str, str] | None = None,
) -> SegmentInfo:
    """Like :func:`build_segment`, from columns that :func:`transform_table` made."""
    check_segment_name(name)
    if table.num_rows > _MAX_ROWS:
        raise InvalidInput(
            f"Segment '{name}' would have {table.num_rows} rows; Pinot allows {_MAX_ROWS}.", remedy="Build several segments."
        )
    head = _segment_lines(table, schema, config, name, creation_time_ms if now_ms is None else now_ms)
    lines = head + [(f"custom.{k}", v) for k, v in sorted((custom or {}).items())]
    with replacing(out_dir / name) as fresh:
        writer = LayoutWriter(fresh, layout_of(config))
        for field in sorted(schema.by_name, key=java_order):
            column = _write(table, masks, schema, config, field)
            writer.add(field, column.payloads, column.forward_suffix)
            lines += [(f"column.{field}.{key}", value) for key, value in column.lines]
        if realtime_offsets is not None:
            lines += [("segment.realtime.startOffset", realtime_offsets[0]), ("segment.realtime.endOffset", realtime_offsets[1])]
        metadata, meta = writer.finish(lines, creation_time_ms)
    return parse_info(metadata, meta)


def layout_of(config: TableConfig) -> str:
    """``tableIndexConfig.segmentFormatVersion``: v3 unless the table asks for v1. Raises InvalidInput for another word."""
    given = str(config.index_config.get("segmentFormatVersion") or V3).lower()
    if given not in (V1, V3):
        raise InvalidInput(f"'segmentFormatVersion' of table '{config.table}' is '{given}'.", remedy="Use v1 or v3.")
    return given


def _write(table: pa.Table, masks: Mapping[str, Mask], schema: Schema, config: TableConfig, column: str) -> WrittenColumn:
    spec = schema.by_name[column]
    values: Any = table.column(column)
    values = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    nulls = masks[column] if uses_null_vector(spec, schema, config) else None
    return write_column(spec, values, nulls, column_settings(spec, config))


def _times(field: FieldSpec, values: Any, config: TableConfig, now_ms: int) -> tuple[int, int, str]:
    """The segment's time; with ``continueOnError`` a wrong one becomes 1971 until now, as in Pinot (segment-format.md 4.3)."""
    try:
        start, end, unit = segment_times(field, values, now_ms)
        if config.segment_time_check:
            check_times(config.table.typed, field, start, end, unit)
    except InvalidInput:
        if not (config.body.get("ingestionConfig") or {}).get("continueOnError"):
            raise
        return TIME_RANGE_MS[0], now_ms, "MILLISECONDS"
    return start, end, unit


def _segment_lines(table: pa.Table, schema: Schema, config: TableConfig, name: str, now_ms: int) -> list[tuple[str, Value]]:
    lines: list[tuple[str, Value]] = [
        ("segment.padding.character", "\0"), ("segment.name", name), ("segment.table.name", config.table.raw),
    ]  # fmt: skip
    for key, kind in _KINDS:
        names = sorted((f.name for f in schema.fields if f.kind == kind), key=java_order)
        if names:
            lines.append((f"segment.{key}.column.names", names))
    column = config.time_column
    if column is not None and column in schema.by_name:
        lines.append(("segment.time.column.name", column))
    lines.append(("segment.total.docs", str(table.num_rows)))
    if column is not None and column in schema.by_name:
        field = schema.by_name[column]
        start, end, unit = _times(field, table.column(column), config, now_ms)
        lines += [("segment.start.time", str(start)), ("segment.end.time", str(end)), ("segment.time.unit", unit)]
    return lines
