"""Expressions of a query of several stages: as those of one table, with real nulls, subqueries and windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from sqlglot import exp

from segments.dataplane.query.aggregate import aggregation, is_aggregation
from segments.dataplane.query.multistage.scope import Scope
from segments.dataplane.query.sql.compiler import Compiler, check_parts, compare
from segments.dataplane.query.sql.plan_size import PlanSize
from segments.dataplane.query.sql.text_growth import COLUMN_TEXT, longest_text
from segments.expressions.duckdb import functions
from segments.expressions.duckdb.compiled import Expr
from segments.expressions.function import canonical
from segments.expressions.query_errors import SQL_PARSING, QueryRejected


class Subqueries(Protocol):
    """Compiles the queries within a query."""

    now: int
    size: PlanSize

    def subquery(self, node: exp.Expression, scope: Scope) -> tuple[str, Sequence[Expr], Sequence[int]]:
        """DuckDB text of a query inside ``scope``, its columns, and the longest text that each can hold."""
        ...


class RowCompiler(Compiler):
    """Expressions over the joined rows of one SELECT."""

    def __init__(self, scope: Scope, queries: Subqueries) -> None:
        super().__init__(scope, queries.now)
        self.scope, self.queries = scope, queries
        self.size = queries.size
        self._lengths: dict[int, tuple[exp.Expression, int]] = {}

    def whole(self, node: exp.Expression) -> tuple[Expr, int]:
        """An expression of a clause, and the longest text that it can make. Raises QueryRejected when that is too
        long.
        """
        made = self.compile(node)
        return made, longest_text(node, self._length)

    def condition(self, node: exp.Expression) -> Expr:
        """As ``predicate``, for a whole clause."""
        made = self.predicate(node)
        longest_text(node, self._length)
        return made

    def compile(self, node: exp.Expression) -> Expr:
        """What this dialect knows beyond that of one table, then as there."""
        special = _SPECIAL.get(type(node))
        made = special(self, node) if special else None
        return self.size.add(made) if made is not None else super().compile(node)

    def recorded_null(self, column: exp.Column) -> Expr | None:
        """Of a table's column; what a subquery gives has its nulls in it."""
        relation, found = self.scope.find(column)
        mark = relation.recorded_null(found)
        return Expr(mark.sql, mark.type, mark.name) if mark else None

    def call(self, node: exp.Anonymous) -> Expr:
        """Functions of null, too, which has a meaning here."""
        build = _OF_NULL.get(canonical(str(node.this)))
        if build is None:
            return super().call(node)
        return build([self.compile(a) for a in node.expressions])

    def aggregate(self, node: exp.Expression, over: str = "") -> Expr:
        """An aggregation of rows that are not null, perhaps with FILTER, or OVER a window."""
        rows = self if over else self.rows  # a window is over what GROUP BY left
        where = rows.predicate(node.expression.this) if isinstance(node, exp.Filter) else None
        call = node.this if isinstance(node, exp.Filter) else node
        if not isinstance(call, exp.Anonymous) or not is_aggregation(str(call.this)):
            raise QueryRejected(f"'{node.sql()[:80]}' is not an aggregation.", error_code=SQL_PARSING)
        raw = list(call.expressions)
        distinct = len(raw) == 1 and isinstance(raw[0], exp.Distinct)
        raw = list(raw[0].expressions) if distinct else raw
        star = len(raw) == 1 and isinstance(raw[0], exp.Star)
        args = [] if star else [rows.compile(a) for a in raw]
        found = aggregation(str(call.this), args, distinct=distinct, star=star)
        conditions = [f"({a.sql}) IS NOT NULL" for a in args if not a.constant] + ([where.sql] if where else [])
        kept = f" FILTER (WHERE {' AND '.join(conditions)})" if conditions else ""
        final = found.final.format(*(f"{part.sql}{kept}{over}" for part in found.parts))
        name = f"count({args[0].name})" if args and found.name == "count(*)" else found.name
        name = f"{name} FILTER(WHERE {where.name})" if where else name
        return Expr(f"({final})", found.type, name)

    @property
    def rows(self) -> RowCompiler:
        """What compiles the arguments of aggregations."""
        return self

    def note_length(self, node: exp.Expression, longest: int) -> None:
        """A part whose inside ``longest_text`` does not know."""
        self._lengths[id(node)] = node, longest

    def _length(self, node: exp.Expression) -> int | None:
        if isinstance(node, exp.Query):
            return self._lengths.get(id(node), (node, COLUMN_TEXT))[1]
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return None
        return self.scope.find(node)[1].longest


class GroupCompiler(RowCompiler):
    """Expressions over groups: keys and aggregations. ``keys`` by the names that they have over rows."""

    def __init__(self, row: RowCompiler, keys: Sequence[Expr]) -> None:
        super().__init__(row.scope, row.queries)
        self._row = row
        self._keys = {key.name: key for key in keys}
        self._composed: dict[int, tuple[exp.Expr, bool]] = {}

    @property
    def rows(self) -> RowCompiler:
        """Aggregations read rows."""
        return self._row

    def compile(self, node: exp.Expression) -> Expr:
        """Aggregations and keys first."""
        if isinstance(node, exp.Filter) or (isinstance(node, exp.Anonymous) and is_aggregation(str(node.this))):
            check_parts(node)
            return self.size.add(self.aggregate(node))
        if self._keys and not isinstance(node, (exp.Literal, exp.Paren)) and not self._is_composed(node):
            key = self._keys.get(self._row.compile(node).name)
            if key is not None:
                return key
        return super().compile(node)

    def recorded_null(self, column: exp.Column) -> Expr | None:
        """What became of recorded nulls in a group is not known."""
        return None

    def _is_composed(self, node: exp.Expression) -> bool:
        """Is an aggregation, a window or a query anywhere in it? A tree is walked once for all its parts."""
        if id(node) not in self._composed:
            found: set[int] = set()
            for part in node.walk():
                if isinstance(part, (exp.Window, exp.Query, exp.Filter)) or (
                    isinstance(part, exp.Anonymous) and is_aggregation(str(part.this))
                ):
                    at: exp.Expr | None = part
                    while at is not None and id(at) not in found:
                        found.add(id(at))
                        at = at.parent if at is not node else None
            self._composed |= {id(part): (part, id(part) in found) for part in node.walk()}
        return self._composed[id(node)][1]

    def column(self, node: exp.Column) -> Expr:
        """Only columns of a query around this one have one value in a group, unless they are keys."""
        found = super().column(node)
        relation = self.scope.find(node)[0]
        if any(relation is own for own in self.scope.relations):
            raise QueryRejected(f"'{found.name}' should appear in GROUP BY clause.", error_code=SQL_PARSING)
        return found


def has_aggregation(node: exp.Expression) -> bool:
    """An aggregation of this very query: not one OVER a window, and none of a subquery."""
    left: list[exp.Expression] = [node]
    while left:
        part = left.pop()
        if isinstance(part, exp.Query):
            continue
        if isinstance(part, exp.Anonymous) and is_aggregation(str(part.this)):
            return True
        inner = list(part.iter_expressions())
        if isinstance(part, exp.Window):
            call = part.this.this if isinstance(part.this, exp.Filter) else part.this
            inner = [child for child in inner if child is not part.this] + list(call.iter_expressions())
        left += inner
    return False


def _is_null(self: RowCompiler, node: exp.Is) -> Expr | None:
    if not isinstance(node.expression, exp.Null):
        return None
    inner, negated = self.compile(node.this), bool(node.args.get("negate"))
    word, mark = "isnotnull" if negated else "isnull", self.null_mark(node.this)
    recorded = f" OR COALESCE({mark.sql}, FALSE)" if mark else ""
    return Expr(f"({'NOT ' * negated}(({inner.sql}) IS NULL{recorded}))", "BOOLEAN", f"{word}({inner.name})")


def _not(self: RowCompiler, node: exp.Not) -> Expr | None:
    is_ours = (isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null)) or (
        isinstance(node.this, exp.In) and node.this.args.get("query") is not None
    )
    if not is_ours:
        return None
    check_parts(node)
    inner = self.predicate(node.this)
    return Expr(f"(NOT {inner.sql})", "BOOLEAN", f"not({inner.name})")


def _in_query(self: RowCompiler, node: exp.In) -> Expr | None:
    query = node.args.get("query")
    if query is None:
        return None
    if any(value for part, value in node.args.items() if part not in ("this", "query")):
        raise QueryRejected(f"'{node.sql()[:80]}' is not supported.", error_code=SQL_PARSING)
    left = self.compile(node.this)
    sql, select, _ = self.queries.subquery(query, self.scope)
    if len(select) != 1:
        raise QueryRejected("The query of IN selects one column.", error_code=SQL_PARSING)
    right = select[0].named("query")
    compare("=", left, Expr(right.sql, right.type, "query", right.mv))  # their types go together
    if left.mv or (left.type != right.type and "BIG_DECIMAL" in (left.type, right.type)):
        raise QueryRejected(f"'{left.name}' cannot be compared with the values of a query.", remedy="Use CAST.")
    return Expr(f"({left.sql} IN ({sql}))", "BOOLEAN", f"in({left.name},query@{id(node)})")


def _exists(self: RowCompiler, node: exp.Exists) -> Expr:
    check_parts(node)
    sql, _, _ = self.queries.subquery(node.this, self.scope)
    return Expr(f"EXISTS ({sql})", "BOOLEAN", f"exists(query@{id(node)})")


def _scalar(self: RowCompiler, node: exp.Subquery) -> Expr:
    sql, select, longest = self.queries.subquery(node, self.scope)
    if len(select) != 1:
        raise QueryRejected("A query that stands for a value selects one column.", error_code=SQL_PARSING)
    self.note_length(node, longest[0])
    return Expr(f"({sql})", select[0].type, f"query@{id(node)}", select[0].mv)


def _coalesce(args: Sequence[Expr]) -> Expr:
    if not args:
        raise QueryRejected("coalesce() takes at least one argument.")
    kind = functions.common_type(args, "coalesce()")
    given = ", ".join(functions.convert(a, kind) for a in args)
    return Expr(f"coalesce({given})", kind, f"coalesce({','.join(a.name for a in args)})")


def _null_if(args: Sequence[Expr]) -> Expr:
    if len(args) != 2:
        raise QueryRejected(f"nullif() takes 2 arguments, not {len(args)}.")
    same = compare("=", args[0], args[1])
    return Expr(
        f"CASE WHEN {same.sql} THEN NULL ELSE {args[0].sql} END", args[0].type, f"nullif({args[0].name},{args[1].name})"
    )


def _window(self: RowCompiler, node: exp.Window) -> Expr:
    from segments.dataplane.query.multistage.windows import window  # it needs this module's compiler

    return window(self, node)


_OF_NULL: Final[dict[str, Callable[[Sequence[Expr]], Expr]]] = {"coalesce": _coalesce, "nullif": _null_if}
_SPECIAL: Final[dict[type, Callable[..., Expr | None]]] = {
    exp.Is: _is_null,
    exp.Not: _not,
    exp.In: _in_query,
    exp.Exists: _exists,
    exp.Subquery: _scalar,
    exp.Window: _window,
}
