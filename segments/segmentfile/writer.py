"""Builds a v3 segment directory from rows; same rows, schema, config and name give the same bytes (segment-format.md 2 to 4)."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from segments.domain.schema import Schema
from segments.domain.table_config import TableConfig
from segments.errors import InvalidInput
from segments.names import check_segment_name
from segments.segmentfile.columnwriter import WrittenColumn, write_column
from segments.segmentfile.crc import CREATION_META, adler32, format_creation_meta, java_order
from segments.segmentfile.info import COLUMNS, INDEX_MAP, METADATA, SegmentInfo, parse_info
from segments.segmentfile.properties import Value, format_properties
from segments.segmentfile.settings import column_settings
from segments.segmentfile.timecolumn import check_times, segment_times
from segments.segmentfile.transform import Mask, transform_table, uses_null_vector

#: Stands before every index in ``columns.psf``.
MARKER: Final = bytes.fromhex("deadbeefdeafbead")
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
    """Convert ``rows`` and write ``out_dir/<name>/v3/``; a directory of that name is replaced only once all is written.

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
    columns = [_write(table, masks, schema, config, field) for field in sorted(schema.by_name, key=java_order)]
    head = _segment_lines(table, schema, config, name, creation_time_ms if now_ms is None else now_ms)
    head += [(f"custom.{k}", v) for k, v in sorted((custom or {}).items())]
    lines = head + [(f"column.{c.name}.{key}", value) for c in columns for key, value in c.lines]
    if realtime_offsets is not None:
        lines += [("segment.realtime.startOffset", realtime_offsets[0]), ("segment.realtime.endOffset", realtime_offsets[1])]
    lines.append(("segment.index.version", "v3"))
    return _write_files(out_dir, name, columns, format_properties(lines), creation_time_ms)


def _write(table: pa.Table, masks: Mapping[str, Mask], schema: Schema, config: TableConfig, column: str) -> WrittenColumn:
    spec = schema.by_name[column]
    values: Any = table.column(column)
    values = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    nulls = masks[column] if uses_null_vector(spec, schema, config) else None
    return write_column(spec, values, nulls, column_settings(spec, config))


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
        start, end, unit = segment_times(field, table.column(column), now_ms)
        if config.segment_time_check:
            check_times(config.table.typed, field, start, end, unit)
        lines += [("segment.start.time", str(start)), ("segment.end.time", str(end)), ("segment.time.unit", unit)]
    return lines


def _write_files(out_dir: Path, name: str, columns: list[WrittenColumn], metadata: bytes, created: int) -> SegmentInfo:
    entries = [(c.name, index, c.payloads[index]) for c in columns for index in sorted(c.payloads)]
    index_map = _index_map(entries)
    body = [part for _, _, data in entries for part in (MARKER, data)]
    crc = adler32([*body, *([index_map] if entries else []), metadata])
    meta = format_creation_meta(crc, created, _data_crc(columns))
    files: dict[str, Iterable[bytes]] = {METADATA: [metadata], CREATION_META: [meta], COLUMNS: body}
    if entries:
        files[INDEX_MAP] = [index_map]
    out_dir.mkdir(parents=True, exist_ok=True)
    fresh, final = out_dir / f".{name}.{os.getpid()}-{threading.get_ident()}.building", out_dir / name
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        (fresh / "v3").mkdir(parents=True)
        for file, blocks in files.items():
            with (fresh / "v3" / file).open("wb") as target:
                target.writelines(blocks)
        shutil.rmtree(final, ignore_errors=True)
        fresh.rename(final)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return parse_info(metadata, meta)


def _index_map(entries: list[tuple[str, str, bytes]]) -> bytes:
    lines: list[tuple[str, Value]] = []
    place = 0
    for column, index, data in entries:
        size = len(data) + len(MARKER)
        lines += [(f"{column}.{index}.startOffset", str(place)), (f"{column}.{index}.size", str(size))]
        place += size
    return format_properties(lines)


def _data_crc(columns: list[WrittenColumn]) -> int:
    """Over dictionaries and forward indexes as the v1 layout names them, in order of those names."""
    files = {}
    for column in columns:
        if "dictionary" in column.payloads:
            files[column.name + ".dict"] = column.payloads["dictionary"]
        if "forward_index" in column.payloads:
            files[column.name + column.forward_suffix] = column.payloads["forward_index"]
    return adler32(files[file] for file in sorted(files, key=java_order))
