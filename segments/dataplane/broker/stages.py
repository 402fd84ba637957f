"""Queries of several stages: what is read of each table, all from one set of routings, and the answer from these rows.

Rows of all tables are gathered in the broker, so their bytes and the number of such queries at a time are bounded.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from segments.dataplane import query_bounds
from segments.dataplane.broker.queried_tables import Side
from segments.dataplane.query import PartialResult, QueryPlan, QueryRejected, ResultTable, execute_partial
from segments.dataplane.query.multistage import StagesStatement, execute_stages, plan_stages, stages_of
from segments.dataplane.stopping import current
from segments.domain.tables.schema import Schema
from segments.expressions.query_errors import EXECUTION_TIMEOUT, QUERY_EXECUTION, SQL_PARSING

#: Rows that are read of one side of a table; more fit into no answer's bytes.
MOST_ROWS: Final = 10_000_000
#: All tables of a query together may have so many times the bytes that an answer may.
_TABLES: Final = 4
#: Such queries that run at the same time in one process.
_AT_ONCE: Final = 2
#: Seconds between two checks whether a waiting query is still wanted.
_CHECK_S: Final = 0.1
_turns: Final = threading.BoundedSemaphore(_AT_ONCE)


def read_stages(sql: str, options: Mapping[str, str], *, is_by_segment: bool) -> StagesStatement | None:
    """The statement of a query of several stages, None for one of a single table. Raises QueryRejected, also where
    Pinot's option switches the multi-stage engine off.
    """
    statement = stages_of(sql)
    if statement is None:
        return None
    if is_by_segment:
        raise QueryRejected("A query of given segments reads one table.", error_code=SQL_PARSING)
    merged = {k.lower(): v for k, v in {**statement.options, **options}.items()}
    if merged.get("usemultistageengine", "").strip().lower() == "false":
        raise QueryRejected(
            "Joins, subqueries, WITH, unions and windows take the multi-stage engine, which an option switches off.",
            error_code=SQL_PARSING,
            remedy="Leave out useMultistageEngine, or set it to true.",
        )
    return statement


class StagesWork:
    """One attempt: the plan on the schemas of these routings."""

    def __init__(
        self, statement: StagesStatement, sides: Mapping[str, Sequence[Side]], options: Mapping[str, str]
    ) -> None:
        self._sides = sides
        self._plan = plan_stages(statement, {name: _schema(name, one) for name, one in sides.items()}, options)

    def reads(self) -> list[tuple[str, Sequence[Side]]]:
        """For every table the query of it alone, and its sides."""
        return [(scan.sql, self._sides[scan.table]) for scan in self._plan.scans.values()]

    def finish(self, read: Sequence[tuple[QueryPlan, Sequence[PartialResult]]], deadline: float) -> ResultTable:
        """The answer from what was read, in the order of ``reads``; ``deadline`` is of ``time.monotonic``. Raises
        QueryRejected.
        """
        left = list(read)
        tables: dict[str, pa.Table] = {}
        for short, scan in self._plan.scans.items():
            count = len(self._sides[scan.table])
            mine, left = left[:count], left[count:]
            tables[short] = _rows(scan.table, mine)
        _check_bytes(tables.values())
        if not _take_turn(deadline):
            raise QueryRejected(
                f"{_AT_ONCE} queries of several stages run already, and none ended in time.",
                error_code=EXECUTION_TIMEOUT,
                remedy="Try again, or raise timeoutMs.",
            )
        try:
            return execute_stages(self._plan, tables, max(0.01, deadline - time.monotonic()))
        finally:
            _turns.release()


def _take_turn(deadline: float) -> bool:
    """False when there is none until then. Raises QueryRejected (503) when the query is cancelled while it waits."""
    while not _turns.acquire(timeout=min(_CHECK_S, max(0.0, deadline - time.monotonic()))):
        current().check()
        if time.monotonic() >= deadline:
            return False
    return True


def _schema(name: str, sides: Sequence[Side]) -> Schema:
    found = sides[0].routing.schema
    if found is None:
        raise QueryRejected(f"Table '{name}' has no schema.", error_code=QUERY_EXECUTION)
    return found


def _rows(table: str, read: Sequence[tuple[QueryPlan, Sequence[PartialResult]]]) -> pa.Table:
    parts = [part.rows for _, found in read for part in found] or [execute_partial(read[0][0], []).rows]
    if any(part.num_rows >= MOST_ROWS for part in parts):
        raise QueryRejected(
            f"More than {MOST_ROWS} rows of '{table}' are needed.", remedy="Write conditions on its columns in WHERE."
        )
    whole = pa.concat_tables(parts, promote_options="permissive")
    return whole.rename_columns([f"c{i}" for i in range(whole.num_columns)])


def _check_bytes(tables: Any) -> None:
    most = _TABLES * query_bounds.current().answer_bytes
    if sum(table.nbytes for table in tables) > most:
        raise QueryRejected(
            f"The rows that the query needs of its tables have more than {most} bytes.",
            remedy="Use fewer columns, or write conditions on columns of each table in WHERE.",
        )
