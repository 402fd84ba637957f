"""Plan a query: from text and schema to the DuckDB text of the servers' part and of the broker's part."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from sqlglot import exp

from segments.dataplane import query_bounds
from segments.dataplane.query.aggregate import Part, aggregation, is_aggregation
from segments.dataplane.query.known_plans import KnownPlans, Planned
from segments.dataplane.query.nulls import null_of
from segments.dataplane.query.sql.compiler import VIRTUAL, Columns, Compiler, check_parts
from segments.dataplane.query.sql.parse import Statement, parse_select
from segments.dataplane.query.sql.plan_size import check_written
from segments.domain.formats.whole_number import whole_number
from segments.domain.tables.schema import FieldSpec, Schema
from segments.domain.tables.time_boundary import TimeFilter
from segments.expressions.duckdb.compiled import DUCK_TYPES, Expr, as_double
from segments.expressions.query_errors import SQL_PARSING, QueryRejected
from segments.names import shown

DEFAULT_LIMIT = 10
_known: Final = KnownPlans()
#: A column of the merged groups for the path without DuckDB: ("key", i), ("part", i, default when empty) or ("avg",
#: sum, count).
Simple = tuple[Any, ...]


@dataclass(frozen=True)
class Ordering:
    """One ORDER BY item: DuckDB text over rows (selection), keys (distinct) or merged groups."""

    sql: str
    descending: bool

    def text(self, sql: str | None = None) -> str:
        """The item for an ORDER BY clause."""
        return f"{sql or self.sql} {'DESC' if self.descending else 'ASC'}"


@dataclass(frozen=True)
class QueryPlan:
    """What servers and broker need to answer one query; both make it from the same text and schema.

    ``reads`` names the columns in the order of ``c0, c1...``, virtual ones included; ``columns`` are the physical ones
    among them.
    """

    table: str
    columns: tuple[str, ...]
    kind: Literal["selection", "distinct", "group"]
    reads: tuple[str, ...]
    fields: Mapping[str, FieldSpec]
    where: str | None
    keys: tuple[Expr, ...]
    parts: tuple[Part, ...]
    select: tuple[Expr, ...]
    names: tuple[str, ...]
    having: str | None
    order: tuple[Ordering, ...]
    limit: int
    offset: int
    simple: Mapping[str, Simple] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def grouped(self) -> bool:
        """Whether groups have keys (an aggregation without GROUP BY always has one row)."""
        return bool(self.keys)

    @property
    def timeout_s(self) -> float:
        """Seconds that servers and the broker may take for their parts."""
        text = self.options.get("timeoutMs", "")
        most = query_bounds.current().timeout_ms
        return (min(int(text), most) if text.isdecimal() else most) / 1000

    @property
    def fetch(self) -> int:
        """Rows of a selection the broker may need from one server."""
        return self.limit + self.offset


def shows_all_rows(options: Mapping[str, str]) -> bool:
    """``skipUpsert``: rows that later ones of their key replaced are shown, too."""
    return options.get("skipUpsert", "").lower() == "true"


def plan_query(
    sql: str,
    schema: Schema,
    *,
    options: Mapping[str, str] | None = None,
    time_filter: TimeFilter | None = None,
    rows: int | None = None,
) -> QueryPlan:
    """Plan one query; raises QueryRejected with Pinot's error code.

    ``options`` go before those in the text; ``now`` (milliseconds) makes now() and ago() the same on the broker and all
    servers. ``time_filter`` is one side's share of a hybrid table, in addition to the query's own WHERE. ``rows``: so
    many at most instead of the query's LIMIT.
    """
    statement = parse_select(sql)
    merged = {**statement.options, **(options or {})}
    planned = Planned(sql, time_filter, rows, query_bounds.current().rows)
    if (known := _known.get(planned, schema)) is not None:
        return replace(known, options=merged)
    try:
        planner = _Planner(statement, schema, _now_ms(merged.get("now", "")), merged)
        plan = planner.plan(time_filter, rows)
    except RecursionError as error:
        raise QueryRejected("The query is nested too deeply.", error_code=SQL_PARSING) from error
    _known.put(planned, schema, plan, planner.row.size.characters)
    return plan


class PostCompiler(Compiler):
    """Compiles expressions over merged groups: ``k<i>`` are keys, ``p<i>`` merged parts."""

    def __init__(self, row: Compiler, keys: tuple[Expr, ...]) -> None:
        super().__init__(row.columns, row.now)
        self.row = row
        self.size = row.size
        self._aggregating: dict[int, tuple[exp.Expr, bool]] = {}
        self.keys = {key.name: Expr(f"k{i}", key.type, key.name) for i, key in enumerate(keys)}
        self.parts: dict[Part, int] = {}
        self.simple: dict[str, Simple] = {f"k{i}": ("key", i) for i in range(len(keys))}

    def compile(self, node: exp.Expression) -> Expr:
        """Aggregations and keys first, then as over rows."""
        check_parts(node)
        if isinstance(node, exp.Filter):
            return self._aggregation(node.this, self.row.predicate(node.expression.this))
        if isinstance(node, exp.Anonymous) and is_aggregation(str(node.this)):
            return self._aggregation(node, None)
        if self.keys and not isinstance(node, (exp.Literal, exp.Paren)) and not self._aggregates(node):
            key = self.keys.get(self.row.compile(node).name)
            if key is not None:
                return key
        return super().compile(node)

    def column(self, node: exp.Column) -> Expr:
        """A column that is not a key has no one value in a group."""
        raise QueryRejected(f"'{self.row.column(node).name}' should appear in GROUP BY clause.", error_code=SQL_PARSING)

    def recorded_null(self, column: exp.Column) -> Expr | None:
        """What became of nulls in a group is not known."""
        return None

    def _aggregates(self, node: exp.Expression) -> bool:
        """As ``has_aggregation``, for every part of one tree after walking it once; the nodes are kept, so that no id
        is another's.
        """
        if id(node) not in self._aggregating:
            calls: set[int] = set()
            for call in node.find_all(exp.Anonymous):
                at: exp.Expr | None = call if is_aggregation(str(call.this)) else None
                while at is not None and id(at) not in calls:
                    calls.add(id(at))
                    at = at.parent if at is not node else None
            self._aggregating |= {id(part): (part, id(part) in calls) for part in node.walk()}
        return self._aggregating[id(node)][1]

    def _aggregation(self, node: exp.Expression, where: Expr | None) -> Expr:
        if not isinstance(node, exp.Anonymous) or not is_aggregation(str(node.this)):
            raise QueryRejected("FILTER (WHERE ...) follows an aggregation function.", error_code=SQL_PARSING)
        raw = list(node.expressions)
        distinct = len(raw) == 1 and isinstance(raw[0], exp.Distinct)
        raw = list(raw[0].expressions) if distinct else raw
        star = len(raw) == 1 and isinstance(raw[0], exp.Star)
        found = aggregation(
            str(node.this), [] if star else [self.row.compile(a) for a in raw], distinct=distinct, star=star
        )
        parts = [p.filtered(where.sql) for p in found.parts] if where else found.parts
        at = [self.parts.setdefault(part, len(self.parts)) for part in parts]
        final = found.final.format(*(f"p{i}" for i in at))
        if found.simple is not None:
            self.simple[final] = ("avg", *at) if found.simple[0] is None else ("part", *at, found.simple[0])
        return Expr(final, found.type, f"{found.name} FILTER(WHERE {where.name})" if where else found.name)


def has_aggregation(node: exp.Expression) -> bool:
    """Whether an aggregation function is called anywhere in it."""
    return any(is_aggregation(str(call.this)) for call in node.find_all(exp.Anonymous))


class _Planner:
    """Holds what the steps of planning one query share."""

    def __init__(self, statement: Statement, schema: Schema, now: int, options: Mapping[str, str]) -> None:
        self.statement, self.schema, self.options = statement, schema, options
        self.tree = statement.select
        self.columns = Columns(schema, frozenset({statement.table, statement.alias}))
        self.row = Compiler(self.columns, now)
        self.items: list[tuple[exp.Expression, str]] = [
            (i.this, i.alias) if isinstance(i, exp.Alias) else (i, "") for i in self.tree.expressions
        ]
        self.aliases = {alias: node for node, alias in self.items if alias}

    def plan(self, time_filter: TimeFilter | None, rows: int | None) -> QueryPlan:
        where = self.tree.args.get("where")
        conditions = [self.row.predicate(where.this).sql] if where else []
        if time_filter is not None:
            conditions.append(self.row.predicate(_comparison(time_filter)).sql)
        filtered = " AND ".join(f"({c})" for c in conditions) if len(conditions) > 1 else next(iter(conditions), None)
        limit, offset = self._limit() if rows is None else (rows, 0)
        shape = self._shape()
        written = [e.sql for part in ("keys", "select", "order") for e in shape[part]]
        check_written([*written, *map(str, shape["parts"]), filtered or "", shape["having"] or ""])
        reads = tuple(self.columns.used)
        physical = dict.fromkeys(null_of(c) or c for c in reads if c not in VIRTUAL)
        return QueryPlan(
            table=self.statement.table, columns=(*physical, *(c for c in reads if null_of(c))), reads=reads,
            fields={c: self.schema.by_name[c] for c in physical}, where=filtered,
            limit=limit, offset=offset, options=self.options, **shape,
        )  # fmt: skip

    def _shape(self) -> dict[str, Any]:
        group, having = self.tree.args.get("group"), self.tree.args.get("having")
        aggregates = group or having or any(has_aggregation(node) for node, _ in self.items)
        if self.tree.args.get("distinct"):
            if aggregates:
                raise QueryRejected(
                    "SELECT DISTINCT together with aggregation is not supported.", error_code=SQL_PARSING
                )
            return self._distinct()
        return self._group(group, having) if aggregates else self._selection()

    def _selected(self) -> tuple[tuple[Expr, ...], tuple[str, ...]]:
        found: list[tuple[Expr, str]] = []
        for node, alias in self.items:
            if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
                if any(node.args.get(part) for part in ("except_", "replace", "rename")):
                    raise QueryRejected("SELECT * EXCEPT is not supported.", error_code=SQL_PARSING)
                self.row.size.count(len(self.schema.by_name))
                found += [(self.columns.column(name), name) for name in sorted(self.schema.by_name)]
            else:
                compiled = self.row.compile(node)
                found.append((compiled, alias or compiled.name))
        return tuple(e for e, _ in found), tuple(n for _, n in found)

    def _selection(self) -> dict[str, Any]:
        select, names = self._selected()
        order = tuple(self._ordering(self.row.compile(node), down) for node, down in self._order_nodes())
        return {
            "kind": "selection",
            "keys": (),
            "parts": (),
            "select": select,
            "names": names,
            "having": None,
            "order": order,
        }

    def _distinct(self) -> dict[str, Any]:
        select, names = self._selected()
        places = {e.name: i for i, e in enumerate(select)}
        order = []
        for node, down in self._order_nodes():
            found = self.row.compile(node)
            if found.name not in places:
                raise QueryRejected(
                    f"ORDER BY '{found.name}' must be selected, because of DISTINCT.", error_code=SQL_PARSING
                )
            order.append(self._ordering(Expr(f"k{places[found.name]}", found.type, found.name), down))
        keys = tuple(Expr(f"k{i}", e.type, e.name) for i, e in enumerate(select))
        return {
            "kind": "distinct",
            "keys": select,
            "parts": (),
            "select": keys,
            "names": names,
            "having": None,
            "order": tuple(order),
            "simple": {f"k{i}": ("key", i) for i in range(len(keys))},
        }

    def _group(self, group: exp.Expression | None, having: exp.Expression | None) -> dict[str, Any]:
        keys = tuple(self.row.compile(self._key(node)) for node in group.expressions) if group else ()
        if group and any(value for part, value in group.args.items() if part != "expressions"):
            raise QueryRejected("ROLLUP, CUBE and GROUPING SETS are not supported.", error_code=SQL_PARSING)
        post = PostCompiler(self.row, keys)
        if any(isinstance(node, exp.Star) for node, _ in self.items):
            raise QueryRejected("SELECT * together with aggregation is not supported.", error_code=SQL_PARSING)
        select = tuple(post.compile(node) for node, _ in self.items)
        names = tuple(alias or e.name for e, (_, alias) in zip(select, self.items, strict=True))
        kept = post.predicate(self._unaliased(having.this)).sql if having else None
        order = tuple(self._ordering(post.compile(node), down) for node, down in self._order_nodes())
        return {
            "kind": "group", "keys": keys, "parts": tuple(post.parts), "select": select, "names": names, "having": kept,
            "order": order, "simple": post.simple,
        }  # fmt: skip

    def _key(self, node: exp.Expression) -> exp.Expression:
        found = self._ordinal(node)
        if has_aggregation(found):
            raise QueryRejected("Aggregation functions cannot stand in GROUP BY.", error_code=SQL_PARSING)
        return found

    def _order_nodes(self) -> list[tuple[exp.Expression, bool]]:
        order = self.tree.args.get("order")
        if not order:
            return []
        for node in (order, *order.expressions):
            check_parts(node)
        return [(self._ordinal(o.this), bool(o.args.get("desc"))) for o in order.expressions]

    def _ordinal(self, node: exp.Expression) -> exp.Expression:
        """``2`` is the second selected item; names of aliases stand for what they name."""
        if not isinstance(node, exp.Literal) or node.is_string:
            return self._unaliased(node)
        position = whole_number(str(node.this))
        if position is None or not 1 <= position <= len(self.items):
            message = f"Position {shown(str(node.this))} is not in the SELECT list of {len(self.items)} items."
            raise QueryRejected(message, error_code=SQL_PARSING)
        return self.items[position - 1][0]

    def _unaliased(self, node: exp.Expression) -> exp.Expression:
        if not self.aliases:
            return node

        def replace(part: exp.Expression) -> exp.Expression:
            known = isinstance(part, exp.Column) and not part.table and self.aliases.get(part.name)
            if not known:
                return part
            self.row.size.repeat(known, 1)
            return known.copy()

        replaced: exp.Expression = node.transform(replace)
        return replaced

    def _ordering(self, expr: Expr, descending: bool) -> Ordering:
        if expr.mv:
            raise QueryRejected(f"Multi-value column '{expr.name}' cannot stand in ORDER BY.")
        if expr.constant:  # a bare number would be a position for DuckDB
            return Ordering(f"CAST({expr.sql} AS {DUCK_TYPES[expr.type]})", descending)
        return Ordering(as_double(expr) if expr.type == "BIG_DECIMAL" else expr.sql, descending)

    def _limit(self) -> tuple[int, int]:
        limit, offset = self.tree.args.get("limit"), self.tree.args.get("offset")
        if limit is not None and (
            not isinstance(limit, exp.Limit) or any(v for part, v in limit.args.items() if part != "expression")
        ):
            raise QueryRejected("Only LIMIT n, LIMIT n OFFSET m and LIMIT m, n are supported.", error_code=SQL_PARSING)
        rows = _whole(limit.expression, "LIMIT") if limit is not None else DEFAULT_LIMIT
        skipped = _whole(offset.expression, "OFFSET") if offset is not None else 0
        most = query_bounds.current().rows
        for what, value in (("LIMIT", rows), ("LIMIT + OFFSET", rows + skipped)):
            if value > most:
                raise QueryRejected(
                    f"Value for '{what}' ({value}) exceeds maximum allowed value of {most}.",
                    remedy="Ask for fewer rows, page by ranges of a column, or raise PINOTADMIN_QUERY_MAX_ROWS.",
                )
        return rows, skipped


def _comparison(wanted: TimeFilter) -> exp.Expression:
    column = exp.Column(this=exp.Identifier(this=wanted.column, quoted=True))
    value = exp.Literal.string(wanted.value) if isinstance(wanted.value, str) else exp.Literal.number(wanted.value)
    return exp.LTE(this=column, expression=value) if wanted.operator == "<=" else exp.GT(this=column, expression=value)


def _whole(node: exp.Expression, what: str) -> int:
    number = whole_number(str(node.this)) if isinstance(node, exp.Literal) and not node.is_string else None
    if number is None or number >= 2**31:
        raise QueryRejected(f"{what} must be a whole number from 0 to {2**31 - 1}.", error_code=SQL_PARSING)
    return number


def _now_ms(text: str) -> int:
    """The option's moment, else this one."""
    given = whole_number(text)
    return time.time_ns() // 1_000_000 if given is None else given
