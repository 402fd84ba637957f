"""One DuckDB per process, locked down, and a cursor per thread: opening one costs more than most queries."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any, Final

import duckdb
import pyarrow as pa

from segments.dataplane import query_bounds
from segments.dataplane.query import time_limit
from segments.expressions.query_errors import EXECUTION_TIMEOUT, QUERY_EXECUTION, QueryRejected

#: Nothing outside of the registered Arrow tables can be read, nothing is written to disk, and the text of a query can
#: not change that.
_SETTINGS: Final[dict[str, Any]] = {
    "threads": 2,
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",
    "max_temp_directory_size": "0B",
}
_BATCH_ROWS: Final = 100_000
_ROOT_LOCK: Final = threading.Lock()
_ROOTS: Final[dict[int, Any]] = {}
_LOCAL: Final = threading.local()


def run(sql: str, name: str, table: pa.Table) -> pa.Table:
    """Run our own text over one Arrow table, which it knows as ``name``. Raises QueryRejected: (200) when DuckDB gives
    up, (250) when the thread's ``time_limit`` is over, (700) when the result has more bytes than an answer may.
    """
    cursor = _cursor()
    cursor.register(name, table)
    is_watched = time_limit.begin(cursor)
    try:
        found = _read(cursor.sql(sql).to_arrow_reader(_BATCH_ROWS))
    except (duckdb.Error, pa.ArrowException, OSError) as error:  # the latter two: while the result is read
        if is_watched and time_limit.end(cursor):
            raise QueryRejected(
                "The query took longer than its time.",
                error_code=EXECUTION_TIMEOUT,
                remedy="Ask for less, or raise timeoutMs.",
            ) from error
        raise QueryRejected(f"The query failed: {_short(error)}", error_code=QUERY_EXECUTION) from error
    finally:
        if is_watched:
            time_limit.end(cursor)
        cursor.unregister(name)
    return found


def check_bytes(size: int) -> None:
    """Raises QueryRejected (700) for an answer with more bytes than one may have."""
    most = query_bounds.current().answer_bytes
    if size > most:
        raise QueryRejected(
            f"The answer has more than {most} bytes.",
            remedy="Ask for fewer rows or columns, or raise PINOTADMIN_QUERY_MAX_ANSWER_BYTES.",
        )


def _read(reader: pa.RecordBatchReader) -> pa.Table:
    batches, size = [], 0
    with reader:
        for batch in reader:
            size += batch.nbytes
            check_bytes(size)
            batches.append(batch)
        return pa.Table.from_batches(batches, reader.schema)


def settings() -> Mapping[str, Any]:
    """The settings DuckDB runs with."""
    return {**_SETTINGS, "memory_limit": f"{query_bounds.current().memory_bytes}B"}


def _cursor() -> Any:
    """This thread's cursor; a fork gets its own database, because threads of the parent do not exist in it."""
    process = os.getpid()
    if getattr(_LOCAL, "process", None) != process:
        with _ROOT_LOCK:
            if process not in _ROOTS:
                root = duckdb.connect(":memory:", config=dict(settings()))
                root.execute("SET TimeZone = 'UTC'").fetchall()
                root.execute("SET lock_configuration = true").fetchall()
                _ROOTS[process] = root
            _LOCAL.cursor = _ROOTS[process].cursor()
        _LOCAL.process = process
    return _LOCAL.cursor


def _short(error: Exception) -> str:
    return str(error).split("\n")[0][:300]
