"""What one query may cost in this process; set once when the process starts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class QueryBounds:
    """``rows``: LIMIT and OFFSET together. ``answer_bytes``: the columns of an answer, on each server and merged, in
    memory.

    ``memory_bytes``: what all queries of a process may have in the query engine at once; nothing is written to disk.
    ``timeout_ms``: the longest time that a query may ask for.
    """

    rows: int = 1_000_000
    answer_bytes: int = 256 << 20
    memory_bytes: int = 4 << 30
    timeout_ms: int = 600_000


_current = QueryBounds()


def use(bounds: QueryBounds) -> None:
    """Let these hold from now on; the memory only in a process that has answered no query yet."""
    global _current  # one set per process, like the engine that it is for
    _current = bounds


def current() -> QueryBounds:
    """Those that hold."""
    return _current


def rows_within(rows: int, values: int, columns: int) -> int:
    """At most so many rows with at most so many values together, but one row in any case: a short query can ask for
    thousands of columns.
    """
    return max(1, min(rows, values // max(1, columns)))
