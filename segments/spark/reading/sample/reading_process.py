"""Reads the first rows of one Parquet, ORC or Avro file, within bounds of memory and time: a process that hostile files
may end. What to read is on standard input as JSON; a line of JSON and an Arrow stream are the answer.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

import pyarrow as pa

from segments import errors
from segments.errors import PinotAdminError
from segments.gateways.input_files.access import FileAccess, access_from_json
from segments.gateways.input_files.source import InputSource
from segments.spark.reading.avro_rows import AvroFile
from segments.spark.reading.columnar import Columnar
from segments.spark.reading.sample.objects import MOST_ROWS, objects_table
from segments.spark.reading.sample.weight import light_rows

#: What the rows of a sample may weigh: a few hundred megabytes as values of Python.
MOST_BYTES: Final = 32 << 20


def first_rows(source: InputSource, path: str, data_format: str, *, raw_times: bool) -> tuple[pa.Table, bool]:
    """(the first rows with all columns, are they all rows). Raises InvalidInput naming the file, and as
    ``InputSource.open``.
    """
    if data_format != "avro":
        return Columnar(path, data_format, source, raw_times).first_rows(MOST_ROWS, MOST_BYTES)
    rows = AvroFile(path, source, raw_times).first_rows(MOST_ROWS)
    table = objects_table(rows, f"Input file '{path}'")
    light = light_rows(table, MOST_BYTES)
    return light, len(rows) < MOST_ROWS and light.num_rows == table.num_rows


def main() -> None:
    """Read, answer, end."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    body = json.load(sys.stdin.buffer)
    access = FileAccess(is_open=True) if body["access"] is None else access_from_json(body["access"])
    _bound(body["memory"], body["seconds"])
    try:
        table, is_whole = first_rows(InputSource(access), body["path"], body["format"], raw_times=body["rawTimes"])
    except (PinotAdminError, MemoryError) as error:
        out.write(json.dumps(_refusal(error)).encode())
    else:
        out.write(json.dumps({"isWhole": is_whole}).encode() + b"\n")
        with pa.ipc.new_stream(out, table.schema) as stream:
            stream.write_table(table)
    out.flush()
    os._exit(0)  # threads of calls that hang are not waited for


def _bound(memory: int, seconds: float) -> None:
    """From now on this process takes so many bytes more at most, and so many seconds of a processor."""
    pa.set_memory_pool(pa.system_memory_pool())  # the usual one reserves more than it uses
    pa.set_cpu_count(1)
    statm = Path("/proc/self/statm")
    used = int(statm.read_text().split()[0]) * resource.getpagesize() if statm.exists() else 0
    _lower(resource.RLIMIT_AS, used + memory)
    _lower(resource.RLIMIT_CPU, int(seconds) + 1)
    _lower(resource.RLIMIT_CORE, 0)


def _lower(kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (limit, limit))


def _refusal(error: BaseException) -> Mapping[str, Any]:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            return {"beyond": True}
        cause = cause.__cause__
    refusal = cast(PinotAdminError, error)
    kind = next(k for k in type(refusal).__mro__ if getattr(errors, k.__name__, None) is k)
    data = {k: v for k, v in refusal.data.items() if isinstance(v, str | int | float | bool | None)}
    return {"error": kind.__name__, "message": refusal.message, "remedy": refusal.remedy, "data": data}


if __name__ == "__main__":
    main()
