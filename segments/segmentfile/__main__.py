"""Looks into segments from the command line: ``python -m segments.segmentfile inspect|verify|rows PATH [--format json]``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from segments.errors import PinotAdminError
from segments.segmentfile import SegmentReader, extract_tar, read_info, read_info_from_tar, verify
from segments.segmentfile.info import ColumnInfo, SegmentInfo

_BLOCK = 10_000


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 = fine, 1 = the segment has faults or can not be read."""
    parser = argparse.ArgumentParser(prog="python -m segments.segmentfile", description="Look into a Pinot segment: directory or tar.gz.")
    parser.add_argument("command", choices=("inspect", "verify", "rows"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--format", choices=("text", "json"), default="text")
    given = parser.parse_args(arguments)
    try:
        if given.command == "verify":
            return _verify(given.path, given.format)
        (_inspect if given.command == "inspect" else _rows)(given.path, given.format)
    except PinotAdminError as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader of our output went away: say nothing at exit
    return 0


def _verify(path: Path, style: str) -> int:
    faults = verify(path)
    if style == "json":
        print(json.dumps({"faults": faults}))
    else:
        print("\n".join(faults) if faults else f"{path.name}: no fault found.")
    return 1 if faults else 0


def _inspect(path: Path, style: str) -> None:
    info = read_info(path) if path.is_dir() else read_info_from_tar(path)
    if style == "json":
        print(json.dumps({**asdict(info), "start_time_ms": info.start_time_ms, "end_time_ms": info.end_time_ms}))
        return
    print(f"segment {info.name} of table {info.table}: {info.total_docs} rows, CRC {info.crc}, created {info.creation_time_ms}")
    if info.time_column:
        print(f"time column {info.time_column}: {info.start_time} to {info.end_time} {info.time_unit}")
    for key, value in sorted(info.custom.items()):
        print(f"custom {key} = {value}")
    for column in info.columns.values():
        print(_column_line(column))


def _column_line(column: ColumnInfo) -> str:
    kind = column.data_type + ("" if column.single_value else "[]")
    coding = f"dictionary of {column.cardinality}" if column.has_dictionary else "raw"
    order = ", sorted" if column.is_sorted else ""
    return f"  {column.name} {column.kind} {kind}: {coding}{order}, {column.min_value} to {column.max_value}"


def _rows(path: Path, style: str) -> None:
    with _directory(path) as folder, SegmentReader(folder) as reader:
        names = list(reader.info.columns)
        table = reader.table(names)
        masks = {n: mask for n in names if (mask := reader.null_mask(n)) is not None}
        for start in range(0, reader.num_docs, _BLOCK):
            for i, row in enumerate(table.slice(start, _BLOCK).to_pylist()):
                shown = {n: _value(v, n, reader.info) for n, v in row.items() if not (n in masks and masks[n][start + i])}
                print(json.dumps(shown) if style == "json" else "\t".join(f"{k}={v}" for k, v in shown.items()))


def _value(value: Any, name: str, info: SegmentInfo) -> Any:
    """A stored value as JSON: BYTES as hex, UUID with dashes, BOOLEAN as true/false, infinities as text."""
    if isinstance(value, list):
        return [_value(v, name, info) for v in value]
    match info.columns[name].data_type:
        case "BOOLEAN":
            return bool(value)
        case "UUID" if len(value) == 16:
            return str(uuid.UUID(bytes=value))
        case "BYTES" | "UUID":
            return value.hex()
        case "FLOAT" | "DOUBLE" if value in (float("inf"), float("-inf")):
            return "Infinity" if value > 0 else "-Infinity"
    return value


@contextmanager
def _directory(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="segment-") as folder:
        yield extract_tar(path, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
