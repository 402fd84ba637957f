"""Plan a query of several stages: what is read of each table, and the DuckDB text over these rows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from segments.dataplane.query.multistage.scope import Scan, Scope
from segments.dataplane.query.multistage.selects import Made, Selects
from segments.dataplane.query.multistage.statement import StagesStatement
from segments.dataplane.query.sql.plan_size import PlanSize, check_written
from segments.domain.formats.whole_number import whole_number
from segments.domain.tables.schema import Schema
from segments.expressions.duckdb.compiled import Expr
from segments.expressions.query_errors import SQL_PARSING, QueryRejected


@dataclass(frozen=True)
class StagesPlan:
    """``scans``: what is read, each known to ``sql`` by its key; ``select`` are the columns ``s0, s1 ...`` of the
    answer.
    """

    scans: Mapping[str, Scan]
    sql: str
    names: tuple[str, ...]
    select: tuple[Expr, ...]


class Session:
    """What the steps of planning one query share: its tables, the names that were given, how large it has become."""

    def __init__(self, statement: StagesStatement, schemas: Mapping[str, Schema], now: int) -> None:
        self.statement, self.now = statement, now
        self.size = PlanSize()
        self.scans = {name: Scan(name, schemas[name]) for name in statement.tables}
        self._short = {name: f"t{i}" for i, name in enumerate(statement.tables)}
        self._given = 0
        self._parts: dict[int, tuple[Scope, Mapping[str, Made]]] = {}

    def source(self, table: str) -> str:
        """The name of a table's rows in the DuckDB text."""
        return self._short[table]

    def name(self) -> str:
        """One that nothing else has."""
        self._given += 1
        return f"r{self._given}"

    def is_read_once(self, table: str) -> bool:
        """Then what one place filters need not be read."""
        return self.statement.tables[table] == 1

    def subquery(self, node: exp.Expression, scope: Scope) -> tuple[str, Sequence[Expr], Sequence[int]]:
        """A query within the clauses of a SELECT."""
        _, parts = self._parts.get(id(scope), (scope, {}))
        made = Selects(self, parts, scope).query(node)
        return made.sql, made.select, made.longest

    def note_parts(self, scope: Scope, parts: Mapping[str, Made]) -> None:
        """Those of WITH that queries inside this scope may name. The scope is kept, so that its id stays its own."""
        self._parts[id(scope)] = scope, parts

    def sources(self) -> Mapping[str, Scan]:
        """Every table of the query by its short name."""
        return {self._short[name]: scan for name, scan in self.scans.items()}


def plan_stages(
    statement: StagesStatement, schemas: Mapping[str, Schema], options: Mapping[str, str] | None = None
) -> StagesPlan:
    """``schemas`` by the tables' names in the statement; of the ``options`` ``now`` (milliseconds) counts. Raises
    QueryRejected with Pinot's error code.
    """
    now = whole_number((options or {}).get("now", ""))
    session = Session(statement, schemas, time.time_ns() // 1_000_000 if now is None else now)
    try:
        made = Selects(session, {}, None).query(statement.tree)
    except RecursionError as error:
        raise QueryRejected("The query is nested too deeply.", error_code=SQL_PARSING) from error
    check_written((made.sql,))
    return StagesPlan(session.sources(), made.sql, made.names, made.select)
