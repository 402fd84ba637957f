"""DuckDB, locked down, with a cursor per thread: opening one costs more than most queries.

A process has one for parts and merges, and one for queries of several stages, so that a join that fills its memory
takes none from the others.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from typing import Any, Final

import duckdb
import pyarrow as pa

from segments.dataplane import query_bounds
from segments.dataplane.query import time_limit
from segments.expressions.query_errors import QUERY_EXECUTION, QueryRejected

#: Nothing outside of the registered Arrow tables can be read, nothing is written to disk, and the text of a query
#: cannot change that.
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
_ROOTS: Final[dict[tuple[int, str], Any]] = {}
_LOCAL: Final = threading.local()
_OWN_NAMES: Final = re.compile(r" when casting from source column \w+")
_MAIN: Final = "main"
_STAGES: Final = "stages"
#: Of the memory that queries may have, the share of those of several stages.
_STAGES_SHARE: Final = 4


def run(sql: str, name: str, table: pa.Table) -> pa.Table:
    """Run our own text over one Arrow table, which it knows as ``name``. Raises QueryRejected: (200) when DuckDB gives
    up, (250) when the thread's ``time_limit`` is over, (503) when its query was cancelled, (700) when the result has
    more bytes than an answer may.
    """
    return _run(_MAIN, sql, {name: table}, None)


def run_stages(sql: str, tables: Mapping[str, pa.Table]) -> pa.Table:
    """As ``run``, over several tables, with the memory of such queries; (700) also for more rows than an answer may
    have.
    """
    return _run(_STAGES, sql, tables, query_bounds.current().rows)


def _run(database: str, sql: str, tables: Mapping[str, pa.Table], most_rows: int | None) -> pa.Table:
    cursor = _cursor(database)
    statement = time_limit.begin(cursor)
    for name, table in tables.items():
        cursor.register(name, table)
    try:
        found = _read(cursor.sql(sql).to_arrow_reader(_BATCH_ROWS), most_rows)
    except (duckdb.Error, pa.ArrowException, OSError) as error:  # the latter two: while the result is read
        time_limit.check(statement)
        raise QueryRejected(f"The query failed: {_short(error)}", error_code=QUERY_EXECUTION) from error
    finally:
        time_limit.end(statement)
        for name in tables:
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


def _read(reader: pa.RecordBatchReader, most_rows: int | None) -> pa.Table:
    batches, size, rows = [], 0, 0
    with reader:
        for batch in reader:
            size += batch.nbytes
            rows += batch.num_rows
            check_bytes(size)
            if most_rows is not None and rows > most_rows:
                raise QueryRejected(
                    f"The answer has more than {most_rows} rows.",
                    remedy="Write a LIMIT, or raise PINOTADMIN_QUERY_MAX_ROWS.",
                )
            batches.append(batch)
        return pa.Table.from_batches(batches, reader.schema)


def settings(database: str = _MAIN) -> Mapping[str, Any]:
    """The settings DuckDB runs with."""
    memory = query_bounds.current().memory_bytes
    return {**_SETTINGS, "memory_limit": f"{memory // _STAGES_SHARE if database == _STAGES else memory}B"}


def _cursor(database: str) -> Any:
    """This thread's cursor; a fork gets its own database, because threads of the parent do not exist in it."""
    process = os.getpid()
    if getattr(_LOCAL, "process", None) != process:
        _LOCAL.cursors = {}
        _LOCAL.process = process
    if database not in _LOCAL.cursors:
        with _ROOT_LOCK:
            if (process, database) not in _ROOTS:
                root = duckdb.connect(":memory:", config=dict(settings(database)))
                root.execute("SET TimeZone = 'UTC'").fetchall()
                root.execute("SET lock_configuration = true").fetchall()
                _ROOTS[process, database] = root
            _LOCAL.cursors[database] = _ROOTS[process, database].cursor()
    return _LOCAL.cursors[database]


def _short(error: Exception) -> str:
    """Without names that only the engine's own text has."""
    return _OWN_NAMES.sub("", str(error).split("\n")[0])[:300]
