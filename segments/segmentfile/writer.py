"""Builds a segment directory from rows; same rows, schema, config and name give the same bytes (rule `pinot-bytes`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from segments.datatypes.timecolumn import TIME_RANGE_MS, check_times, segment_times
from segments.domain.tables.schema import FieldSpec, Schema
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput
from segments.names import check_segment_name
from segments.segmentfile.columns.settings import column_settings
from segments.segmentfile.columns.transform import Mask, prepare, stored_fields, uses_null_vector
from segments.segmentfile.format.columnwriter import WrittenColumn, write_column
from segments.segmentfile.format.crc import java_order
from segments.segmentfile.format.info import SegmentInfo, parse_info
from segments.segmentfile.format.layout import V1, V3, LayoutWriter, replacing
from segments.segmentfile.format.properties import Value

_KINDS: Final = (("dimension", "DIMENSION"), ("metric", "METRIC"), ("datetime", "DATE_TIME"))
_MAX_ROWS: Final = 2**31 - 1


def build_segment(
    rows: pa.Table | pa.RecordBatchReader | Iterable[pa.RecordBatch],
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

    One column at a time is converted and encoded. A directory of that name is replaced only once all is written.
    ``now_ms`` (default: the creation time) stands for null times and an empty segment's time. ``realtime_offsets`` are
    start and end offset of a segment consumed from a stream. Raises InvalidInput for a bad name, value or time.
    """
    now = creation_time_ms if now_ms is None else now_ms
    prepared = prepare(_table(rows), schema, config, now_ms=now)
    described = _Described(schema, config, name, creation_time_ms, now, dict(custom or {}), realtime_offsets)
    return _write(prepared.column, prepared.table.num_rows, described, out_dir)


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
    now = creation_time_ms if now_ms is None else now_ms
    described = _Described(schema, config, name, creation_time_ms, now, dict(custom or {}), realtime_offsets)
    return _write(lambda column: (_whole(table.column(column)), masks[column]), table.num_rows, described, out_dir)


@dataclass(frozen=True)
class _Described:
    """What a segment is, besides its rows."""

    schema: Schema
    config: TableConfig
    name: str
    created_ms: int
    now_ms: int
    custom: Mapping[str, str]
    realtime_offsets: tuple[str, str] | None


def _table(rows: Any) -> Any:
    if isinstance(rows, pa.Table):
        return rows
    return rows.read_all() if isinstance(rows, pa.RecordBatchReader) else pa.Table.from_batches(list(rows))


def _whole(values: Any) -> Any:
    return values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)


def _write(column: Callable[[str], tuple[Any, Mask]], rows: int, of: _Described, out_dir: Path) -> SegmentInfo:
    check_segment_name(of.name)
    if rows > _MAX_ROWS:
        raise InvalidInput(
            f"Segment '{of.name}' would have {rows} rows; Pinot allows {_MAX_ROWS}.", remedy="Build several segments."
        )
    lines = _segment_lines(column, rows, of)
    lines += [(f"custom.{k}", v) for k, v in sorted(of.custom.items())]
    with replacing(out_dir / of.name) as fresh:
        writer = LayoutWriter(fresh, layout_of(of.config))
        for field in sorted((f.name for f in stored_fields(of.schema)), key=java_order):
            written = _encoded(column, of, field)
            writer.add(field, written.payloads, written.forward_suffix)
            lines += [(f"column.{field}.{key}", value) for key, value in written.lines]
            del written  # before the next column is converted
            pa.default_memory_pool().release_unused()  # Arrow's allocator would keep what hash tables needed
        if of.realtime_offsets is not None:
            start, end = of.realtime_offsets
            lines += [("segment.realtime.startOffset", start), ("segment.realtime.endOffset", end)]
        metadata, meta = writer.finish(lines, of.created_ms)
    return parse_info(metadata, meta)


def _encoded(column: Callable[[str], tuple[Any, Mask]], of: _Described, name: str) -> WrittenColumn:
    spec = of.schema.by_name[name]
    values, mask = column(name)
    return write_column(
        spec, values, mask if uses_null_vector(spec, of.schema, of.config) else None, column_settings(spec, of.config)
    )


def layout_of(config: TableConfig) -> str:
    """``tableIndexConfig.segmentFormatVersion``: v3 unless the table asks for v1. Raises InvalidInput
    for another word.
    """
    given = str(config.index.segment_format_version or V3).lower()
    if given not in (V1, V3):
        raise InvalidInput(f"'segmentFormatVersion' of table '{config.table}' is '{given}'.", remedy="Use v1 or v3.")
    return given


def _times(field: FieldSpec, values: Any, config: TableConfig, now_ms: int) -> tuple[int, int, str]:
    """The segment's time; with ``continueOnError`` a wrong one becomes 1971 until now, as in Pinot."""
    try:
        start, end, unit = segment_times(field, values, now_ms)
        if config.segment_time_check:
            check_times(config.table.typed, field, start, end, unit)
    except InvalidInput:
        if not config.ingestion.continue_on_error:
            raise
        return TIME_RANGE_MS[0], now_ms, "MILLISECONDS"
    return start, end, unit


def _segment_lines(column: Callable[[str], tuple[Any, Mask]], rows: int, of: _Described) -> list[tuple[str, Value]]:
    lines: list[tuple[str, Value]] = [
        ("segment.padding.character", "\0"), ("segment.name", of.name), ("segment.table.name", of.config.table.raw),
    ]  # fmt: skip
    for key, kind in _KINDS:
        names = sorted((f.name for f in stored_fields(of.schema) if f.kind == kind), key=java_order)
        if names:
            lines.append((f"segment.{key}.column.names", names))
    time = of.config.time_column if of.config.time_column in of.schema.by_name else None
    if time is not None:
        lines.append(("segment.time.column.name", time))
    lines.append(("segment.total.docs", str(rows)))
    if time is not None:
        start, end, unit = _times(of.schema.by_name[time], column(time)[0], of.config, of.now_ms)
        lines += [("segment.start.time", str(start)), ("segment.end.time", str(end)), ("segment.time.unit", unit)]
    return lines
