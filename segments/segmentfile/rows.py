"""A segment's rows as people and other programs want them: nulls as nulls, logical types, as JSON, CSV, Parquet or
text.
"""

from __future__ import annotations

import csv
import json
import math
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final

import pyarrow as pa
import pyarrow.parquet

from segments.datatypes.compute import pc
from segments.datatypes.convert import map_distinct
from segments.errors import InvalidInput
from segments.segmentfile.format.buffers import lists_of, row_offsets
from segments.segmentfile.format.info import ColumnInfo
from segments.segmentfile.reader import SegmentReader

FORMATS: Final = ("text", "json", "csv", "parquet")
#: Between the values of a multi-value column in CSV; Pinot's CSV reader takes it by default.
MULTI_VALUE_DELIMITER: Final = ";"
_BLOCK: Final = 50_000


def row_tables(
    reader: SegmentReader, columns: Sequence[str] | None = None, start: int = 0, stop: int | None = None
) -> Iterator[pa.Table]:
    """Rows ``start`` to ``stop`` (exclusive) of some columns (default: all), in blocks.

    BOOLEAN is bool, TIMESTAMP timestamp[ms], UUID dashed text, BIG_DECIMAL text, BYTES binary; recorded nulls are null.
    A segment without rows gives one empty table. Raises SegmentCorrupt, and NotFound for an unknown column.
    """
    names = list(columns) if columns is not None else list(reader.info.columns)
    last = min(reader.num_docs, reader.num_docs if stop is None else stop)
    for first in range(start, max(last, start + 1), _BLOCK):
        end = max(first, min(first + _BLOCK, last))
        yield pa.table({name: _logical(reader, name, first, end) for name in names})


def write_rows(
    reader: SegmentReader,
    form: str,
    target: IO[bytes],
    columns: Sequence[str] | None = None,
    start: int = 0,
    stop: int | None = None,
) -> None:
    """Write rows to an open file: ``json`` (an object per line, nulls left out), ``csv`` (with header), ``parquet`` or
    ``text``.
    """
    tables = row_tables(reader, columns, start, stop)
    if form == "parquet":
        _parquet(tables, target)
        return
    for number, table in enumerate(tables):
        shown = [_shown(table.column(name), reader.info.columns[name]) for name in table.column_names]
        if form == "csv":
            _csv(table.column_names, shown, target, with_header=number == 0)
            continue
        for values in zip(*shown, strict=True):
            row = {k: v for k, v in zip(table.column_names, values, strict=True) if v is not None}
            line = json.dumps(row) if form == "json" else "\t".join(f"{k}={v}" for k, v in row.items())
            target.write(line.encode("utf-8", "replace") + b"\n")


def check_format(form: str, output: Path | None) -> None:
    """Raises InvalidInput for a format that cannot go to the terminal."""
    if form == "parquet" and output is None:
        raise InvalidInput("Parquet is not text.", remedy="Name a file: --output rows.parquet.")


def _parquet(tables: Iterator[pa.Table], target: IO[bytes]) -> None:
    writer: Any = None
    try:
        for table in tables:
            if writer is None:
                writer = pyarrow.parquet.ParquetWriter(target, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _csv(names: Sequence[str], columns: Sequence[Sequence[Any]], target: IO[bytes], *, with_header: bool) -> None:
    class _Bytes:
        def write(self, text: str) -> int:
            return target.write(text.encode("utf-8", "replace"))

    out = csv.writer(_Bytes(), lineterminator="\n")
    if with_header:
        out.writerow(names)
    for values in zip(*columns, strict=True):
        out.writerow([_cell(v) for v in values])


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        return MULTI_VALUE_DELIMITER.join(str(_cell(v)) for v in value)
    return str(value).lower() if isinstance(value, bool) else value


def _logical(reader: SegmentReader, name: str, start: int, stop: int) -> Any:
    values = reader.column(name, start, stop)
    column = reader.info.columns[name]
    if column.single_value:
        values = _typed(values, column.data_type)
    else:
        values = lists_of(row_offsets(values), _typed(values.flatten(), column.data_type))
    mask = reader.null_mask(name)
    if mask is None or not mask[start:stop].any():
        return values
    if column.single_value:
        return pc.if_else(pa.array(mask[start:stop]), pa.scalar(None, values.type), values)
    places = pa.array(range(len(values)), pa.int64())
    return values.take(pc.if_else(pa.array(mask[start:stop]), pa.scalar(None, pa.int64()), places))


def _typed(values: Any, data_type: str) -> Any:
    match data_type:
        case "BOOLEAN":
            return pc.not_equal(values, 0)
        case "TIMESTAMP":
            return values.cast(pa.timestamp("ms"))
        case "UUID":
            return map_distinct(values, _dashed, pa.string())
    return values


def _dashed(value: bytes) -> str:
    return str(uuid.UUID(bytes=value)) if len(value) == 16 else value.hex()


def _shown(values: Any, column: ColumnInfo) -> list[Any]:
    """Values for text formats: BYTES as hex, TIMESTAMP in milliseconds, infinities as Java's words."""
    values = values.combine_chunks()
    if column.data_type == "TIMESTAMP":
        values = values.cast(pa.int64() if column.single_value else pa.list_(pa.int64()))
    listed: list[Any] = values.to_pylist()
    if column.data_type in ("FLOAT", "DOUBLE", "BYTES", "MAP"):
        return [_plain(v) for v in listed]
    return listed


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
