"""Inspects segments from the command line: ``python -m segments.segmentfile inspect|verify|rows|convert PATH``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from segments.errors import InvalidInput, PinotAdminError
from segments.segmentfile import SegmentReader, extract_tar, read_info, read_info_from_tar, verify, write_tar
from segments.segmentfile.format.info import ColumnInfo
from segments.segmentfile.format.layout import V1, V3
from segments.segmentfile.relayout import convert_layout
from segments.segmentfile.rows import FORMATS, check_format, write_rows

_PROGRAM = "python -m segments.segmentfile"


def main(arguments: list[str] | None = None, program: str = _PROGRAM) -> int:
    """Run one command; 0 = fine, 1 = the segment has faults or cannot be read."""
    given = _parser(program).parse_args(arguments)
    try:
        return {"inspect": _inspect, "verify": _verify, "rows": _rows, "convert": _convert}[given.command](given)
    except PinotAdminError as error:
        print(error, file=sys.stderr)
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # the reader of our output is gone: print nothing at exit
        return 0
    except OSError as error:
        print(f"{error.filename or given.path}: {error.strerror}.", file=sys.stderr)
    return 1


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=program, description="Inspect a Pinot segment: a directory or its tar.gz.")
    commands = parser.add_subparsers(dest="command", required=True)
    about = {
        "inspect": "what it says about itself",
        "verify": "search for faults: CRC, offsets, lengths, order of dictionaries, min and max",
        "rows": "its rows",
        "convert": "write it in the other layout (v1 to v3)",
    }
    for name, text in about.items():
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("path", type=Path, help="directory of a segment, or its tar.gz")
        if name != "convert":
            choices = FORMATS if name == "rows" else FORMATS[:2]
            command.add_argument("--format", choices=choices, default="text")
        if name == "rows":
            command.add_argument("--output", type=Path, help="file to write (default: the terminal)")
            command.add_argument("--columns", help="names, separated by commas (default: all)")
            command.add_argument("--start", type=int, default=0, help="first row, from 0")
            command.add_argument("--limit", type=int, help="number of rows (default: all)")
        if name == "convert":
            command.add_argument(
                "--output", type=Path, required=True, help="directory to write <segment name> into, or a .tar.gz"
            )
            command.add_argument("--to", choices=(V1, V3), default=V3)
    return parser


def _verify(given: argparse.Namespace) -> int:
    faults = verify(given.path)
    if given.format == "json":
        print(json.dumps({"faults": faults}))
    else:
        print("\n".join(faults) if faults else f"{given.path.name}: no fault found.")
    return 1 if faults else 0


def _inspect(given: argparse.Namespace) -> int:
    info = read_info(given.path) if given.path.is_dir() else read_info_from_tar(given.path)
    if given.format == "json":
        print(json.dumps({**asdict(info), "start_time_ms": info.start_time_ms, "end_time_ms": info.end_time_ms}))
        return 0
    print(
        f"segment {info.name} of table {info.table}: {info.total_docs} rows, CRC {info.crc}, created "
        f"{info.creation_time_ms}"
    )
    if info.time_column:
        print(f"time column {info.time_column}: {info.start_time} to {info.end_time} {info.time_unit}")
    for key, value in sorted(info.custom.items()):
        print(f"custom {key} = {value}")
    for column in info.columns.values():
        print(_column_line(column))
    return 0


def _column_line(column: ColumnInfo) -> str:
    kind = column.data_type + ("" if column.single_value else "[]")
    coding = f"dictionary of {column.cardinality}" if column.has_dictionary else "raw"
    order = ", sorted" if column.is_sorted else ""
    return f"  {column.name} {column.kind} {kind}: {coding}{order}, {column.min_value} to {column.max_value}"


def _rows(given: argparse.Namespace) -> int:
    check_format(given.format, given.output)
    if given.start < 0 or (given.limit is not None and given.limit < 0):
        raise InvalidInput("--start and --limit count rows and cannot be negative.")
    columns = given.columns.split(",") if given.columns else None
    stop = None if given.limit is None else given.start + given.limit
    with _directory(given.path) as folder, SegmentReader(folder) as reader:
        if given.output is None:
            sys.stdout.flush()
            write_rows(reader, given.format, sys.stdout.buffer, columns, given.start, stop)
            sys.stdout.buffer.flush()
            return 0
        with given.output.open("wb") as target:
            write_rows(reader, given.format, target, columns, given.start, stop)
    return 0


def _convert(given: argparse.Namespace) -> int:
    with _directory(given.path) as folder:
        if not given.output.name.endswith(".tar.gz"):
            info = convert_layout(folder, given.output, layout=given.to)
            print(f"{given.output / info.name}: {info.total_docs} rows in layout {given.to}, CRC {info.crc}")
            return 0
        with tempfile.TemporaryDirectory(prefix="segment-") as work:
            info = convert_layout(folder, Path(work), layout=given.to)
            write_tar(Path(work) / info.name, given.output)
    print(f"{given.output}: {info.total_docs} rows in layout {given.to}, CRC {info.crc}")
    return 0


@contextmanager
def _directory(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="segment-") as folder:
        yield extract_tar(path, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
