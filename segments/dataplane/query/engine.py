"""One DuckDB per process, locked down, and a cursor per thread: opening one costs more than most queries."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any, Final

import duckdb
import pyarrow as pa

from segments.dataplane.query.rejected import QUERY_EXECUTION, QueryRejected

#: Nothing outside of the registered Arrow tables can be read, and the text of a query can not change that.
_SETTINGS: Final[dict[str, Any]] = {
    "threads": 2, "memory_limit": "4GB", "enable_external_access": "false", "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
}  # fmt: skip
_ROOT_LOCK: Final = threading.Lock()
_ROOTS: Final[dict[int, Any]] = {}
_LOCAL: Final = threading.local()


def run(sql: str, name: str, table: pa.Table) -> pa.Table:
    """Run our own text over one Arrow table, which it knows as ``name``. Raises QueryRejected (200) when DuckDB gives up."""
    cursor = _cursor()
    cursor.register(name, table)
    try:
        found: pa.Table = cursor.sql(sql).to_arrow_table()
        return found
    except duckdb.Error as error:
        raise QueryRejected(f"The query failed: {_short(error)}", error_code=QUERY_EXECUTION) from error
    finally:
        cursor.unregister(name)


def settings() -> Mapping[str, Any]:
    """The settings DuckDB runs with."""
    return dict(_SETTINGS)


def _cursor() -> Any:
    """This thread's cursor; a fork gets its own database, because threads of the parent do not exist in it."""
    process = os.getpid()
    if getattr(_LOCAL, "process", None) != process:
        with _ROOT_LOCK:
            if process not in _ROOTS:
                root = duckdb.connect(":memory:", config=_SETTINGS)
                root.execute("SET TimeZone = 'UTC'").fetchall()
                root.execute("SET lock_configuration = true").fetchall()
                _ROOTS[process] = root
            _LOCAL.cursor = _ROOTS[process].cursor()
        _LOCAL.process = process
    return _LOCAL.cursor


def _short(error: Exception) -> str:
    return str(error).split("\n")[0][:300]
