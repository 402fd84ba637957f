"""SELECT, UNION and WITH as DuckDB text, made only from our own names and templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from sqlglot import exp

from segments.dataplane import query_bounds
from segments.dataplane.query.multistage.expressions import GroupCompiler, RowCompiler, has_aggregation
from segments.dataplane.query.multistage.joins import From, Parts
from segments.dataplane.query.multistage.pushdown import push_down
from segments.dataplane.query.multistage.scope import DerivedRelation, Field, Scan, Scope
from segments.dataplane.query.multistage.windows import ordering, typed
from segments.dataplane.query.sql.compiler import check_parts
from segments.dataplane.query.sql.plan_size import PlanSize
from segments.domain.formats.plural import counted
from segments.domain.formats.whole_number import whole_number
from segments.expressions.duckdb import functions
from segments.expressions.duckdb.compiled import Expr
from segments.expressions.query_errors import SQL_PARSING, QueryRejected

_SELECT: Final = frozenset(
    {"expressions", "distinct", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "with_"}
)
_SET: Final = frozenset({"this", "expression", "distinct", "order", "limit", "offset", "with_"})
#: Columns of one SELECT: with * in every part of WITH they double from part to part.
_MOST_COLUMNS: Final = 4_096
_WORDS: Final[dict[type, str]] = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}


@dataclass(frozen=True)
class Made:
    """DuckDB text of a query whose columns are ``s0, s1 ...``, with Pinot's names, types and longest texts of these."""

    sql: str
    names: tuple[str, ...]
    select: tuple[Expr, ...]
    longest: tuple[int, ...]

    def relation(self, alias: str, short: str, columns: tuple[str, ...] = ()) -> DerivedRelation:
        """As an item of FROM; ``columns`` are names that the alias gives."""
        if columns and len(columns) != len(self.select):
            raise QueryRejected(
                f"'{alias[:80]}' names {counted(len(columns), 'column')} of a query with {len(self.select)}.",
                error_code=SQL_PARSING,
            )
        named = zip(columns or self.names, self.select, self.longest, strict=True)
        fields = (Field(name, f"{short}.s{i}", e.type, e.mv, most) for i, (name, e, most) in enumerate(named))
        return DerivedRelation(alias, tuple(fields))


class SharedState(Protocol):
    """What ``Session`` gives."""

    now: int
    size: PlanSize

    @property
    def scans(self) -> Mapping[str, Scan]: ...
    @property
    def statement(self) -> Parts: ...
    def source(self, table: str) -> str: ...
    def name(self) -> str: ...
    def is_read_once(self, table: str) -> bool: ...
    def note_parts(self, scope: Scope, parts: Mapping[str, Made]) -> None: ...
    def subquery(self, node: exp.Expression, scope: Scope) -> tuple[str, Sequence[Expr], Sequence[int]]: ...


class Selects:
    """Compiles queries that see these parts of WITH, and the columns of ``outer``."""

    def __init__(self, session: SharedState, parts: Mapping[str, Made], outer: Scope | None) -> None:
        self.session, self.parts, self.outer = session, parts, outer

    def query(self, node: exp.Expression) -> Made:
        """A SELECT, a set operation, or one of them in brackets."""
        if isinstance(node, exp.Subquery):
            _only(node, frozenset({"this", "alias"}))
            return self.query(node.this)
        if not isinstance(node, (exp.Select, exp.SetOperation)):
            raise QueryRejected(f"{node.key.upper()} is not supported.", error_code=SQL_PARSING)
        inner, head = self._with(node)
        made = inner._select(node) if isinstance(node, exp.Select) else inner._set_operation(node)
        return replace(made, sql=head + made.sql)

    def derived(self, node: exp.Expression) -> Made:
        """A query that sees nothing of the columns around it."""
        return Selects(self.session, self.parts, None).query(node)

    def _with(self, node: exp.Expression) -> tuple[Selects, str]:
        """Each part is computed once, however often it is named, so that a short text stays short work."""
        clause = node.args.get("with_")
        if clause is None:
            return self, ""
        _only(clause, frozenset({"expressions"}))
        parts, texts = dict(self.parts), []
        for part in clause.expressions:
            _only(part, frozenset({"this", "alias"}))
            made = Selects(self.session, parts, None).query(part.this)
            short = self.session.name()
            texts.append(f"{short} AS MATERIALIZED ({made.sql})")
            names = tuple(str(c.this) for c in part.args["alias"].args.get("columns") or ())
            made.relation(part.alias, short, names)
            parts[str(part.alias).lower()] = replace(
                made, sql=f"SELECT * FROM {short}", names=names or made.names  # noqa: S608  # a name of ours
            )  # fmt: skip
        return Selects(self.session, parts, self.outer), f"WITH {', '.join(texts)} "

    def _set_operation(self, node: exp.SetOperation) -> Made:
        _only(node, _SET)
        left, right = (self.query(node.args[p]) for p in ("this", "expression"))
        if len(left.select) != len(right.select):
            columns = f"{len(left.select)} and {counted(len(right.select), 'column')}"
            raise QueryRejected(f"The sides of {_WORDS[type(node)]} have {columns}.", error_code=SQL_PARSING)
        kinds = [_common(a, b, i) for i, (a, b) in enumerate(zip(left.select, right.select, strict=True))]
        sides = [_converted(side, kinds) for side in (left, right)]
        word = _WORDS[type(node)] + ("" if node.args.get("distinct") else " ALL")
        short = self.session.name()
        longest = tuple(map(max, left.longest, right.longest))
        whole = Made("", left.names, tuple(kinds), longest)
        scope = Scope([whole.relation("", short)])
        rows = RowCompiler(scope, self.session)
        order = self._order(node, list(whole.relation("", short).fields), rows)
        text = f"SELECT * FROM ({sides[0]} {word} {sides[1]}) AS {short}{order}{_page(node)}"  # noqa: S608  # our own templates only
        return replace(whole, sql=text)

    def _order(self, node: exp.Expression, fields: list[Field], rows: RowCompiler) -> str:
        order = node.args.get("order")
        if not order:
            return ""
        items = []
        for item in order.expressions:
            at = _ordinal(item.this, len(fields)) if isinstance(item, exp.Ordered) else None
            found = rows.whole(item.this)[0] if at is None else Expr(fields[at].sql, fields[at].type, "", fields[at].mv)
            items.append(ordering(found, item))
        return f" ORDER BY {', '.join(items)}"

    def _select(self, node: exp.Select) -> Made:
        _only(node, _SELECT)
        source = From(self, node)
        scope = Scope(source.relations, source.merged, self.outer)
        self.session.note_parts(scope, self.parts)
        rows = RowCompiler(scope, self.session)
        where = node.args.get("where")
        filtered = f" WHERE {rows.condition(where.this).sql}" if where else ""
        if where:
            push_down(where.this, scope, self.session.is_read_once)
        return _Items(node, scope, rows).made(f" FROM {source.text}{filtered}")


class _Items:
    """The SELECT list and what refers to it: GROUP BY, HAVING, ORDER BY."""

    def __init__(self, node: exp.Select, scope: Scope, rows: RowCompiler) -> None:
        self.node, self.scope, self.rows = node, scope, rows
        self.items = [(i.this, i.alias) if isinstance(i, exp.Alias) else (i, "") for i in node.expressions]
        self.aliases = {alias.lower(): item for item, alias in self.items if alias}

    def made(self, source: str) -> Made:
        group, having = self.node.args.get("group"), self.node.args.get("having")
        keys = self._keys(group) if group else []
        is_grouped = bool(group or having or any(has_aggregation(item) for item, _ in self.items))
        values = GroupCompiler(self.rows, keys) if is_grouped else self.rows
        select, names, longest = self._selected(values, is_grouped)
        text = f"SELECT {'DISTINCT ' * self._is_distinct()}"
        text += ", ".join(f"{e.sql} AS s{i}" for i, e in enumerate(select)) + source
        text += f" GROUP BY {', '.join(f'({k.sql})' for k in keys)}" if keys else ""
        if having:
            text += f" HAVING {values.condition(self._meant(having.this)).sql}"
        return Made(text + self._order(values, select) + _page(self.node), names, select, longest)

    def _is_distinct(self) -> bool:
        distinct = self.node.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            raise QueryRejected("DISTINCT ON is not supported.", error_code=SQL_PARSING)
        return distinct is not None

    def _selected(
        self, values: RowCompiler, is_grouped: bool
    ) -> tuple[tuple[Expr, ...], tuple[str, ...], tuple[int, ...]]:
        found: list[tuple[Expr, str, int]] = []
        for position, (item, alias) in enumerate(self.items):
            if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
                if is_grouped:
                    raise QueryRejected("SELECT * together with aggregation is not supported.", error_code=SQL_PARSING)
                found += self._star(item)
                if len(found) > _MOST_COLUMNS:
                    raise QueryRejected(
                        f"SELECT has more than {_MOST_COLUMNS} columns.",
                        error_code=SQL_PARSING,
                        remedy="Name the columns that are needed in the place of *.",
                    )
            else:
                made, longest = values.whole(item)
                plain = self.scope.find(item)[1].name if isinstance(item, exp.Column) else made.name
                name = alias or (f"EXPR${position}" if "@" in plain else plain)
                found.append((made, name[:400], longest))
        if not found:
            raise QueryRejected("SELECT names nothing.", error_code=SQL_PARSING)
        return tuple(f[0] for f in found), tuple(f[1] for f in found), tuple(f[2] for f in found)

    def _star(self, item: exp.Expression) -> list[tuple[Expr, str, int]]:
        star = item.this if isinstance(item, exp.Column) else item
        if any(v for part, v in star.args.items() if part != "expressions"):
            raise QueryRejected("SELECT * EXCEPT is not supported.", error_code=SQL_PARSING)
        alias = item.args["table"].name if isinstance(item, exp.Column) and item.args.get("table") else ""
        relations = self.scope.named(alias)
        if not relations:
            raise QueryRejected(f"'{alias[:80]}' names no table of this query.", error_code=SQL_PARSING)
        found, merged = [], set[str]()
        for relation in relations:
            for column in relation.all():
                if not alias and column.name.lower() in self.scope.merged:
                    if column.name.lower() in merged:
                        continue
                    merged.add(column.name.lower())
                made = Expr(column.sql, column.type, f"{relation.alias}.{column.name}", column.mv)
                found.append((self.rows.size.add(made), column.name, column.longest))
        return found

    def _keys(self, group: exp.Expression) -> list[Expr]:
        if any(value for part, value in group.args.items() if part != "expressions"):
            raise QueryRejected("ROLLUP, CUBE and GROUPING SETS are not supported.", error_code=SQL_PARSING)
        keys = []
        for node in group.expressions:
            meant = self._item(node)
            if has_aggregation(meant):
                raise QueryRejected("Aggregation functions cannot stand in GROUP BY.", error_code=SQL_PARSING)
            key = self.rows.whole(meant)[0]
            if key.mv:
                raise QueryRejected(f"Multi-value column '{key.name}' cannot stand in GROUP BY of a join.")
            keys.append(replace(key, sql=typed(key)))
        return keys

    def _order(self, values: RowCompiler, select: tuple[Expr, ...]) -> str:
        order = self.node.args.get("order")
        if not order:
            return ""
        check_parts(order)
        places = {e.name: i for i, e in enumerate(select)}
        items = []
        for item in order.expressions:
            alias = item.this if isinstance(item, exp.Ordered) else item
            given = self.aliases.get(alias.name.lower()) if isinstance(alias, exp.Column) and not alias.table else None
            found = values.whole(given if given is not None else self._item(alias))[0]
            at = places.get(found.name)
            if self.node.args.get("distinct") and at is None:
                raise QueryRejected(
                    f"ORDER BY '{found.name}' must be selected, because of DISTINCT.", error_code=SQL_PARSING
                )
            is_plain = at is not None and found.type != "BIG_DECIMAL"
            items.append(ordering(found, item, str(at + 1) if is_plain and at is not None else None))
        return f" ORDER BY {', '.join(items)}"

    def _item(self, node: exp.Expression) -> exp.Expression:
        """``2`` is the second selected item; a name that is not a column may be an alias."""
        at = _ordinal(node, len(self.items))
        return self._meant(node) if at is None else self.items[at][0]

    def _meant(self, node: exp.Expression) -> exp.Expression:
        def replaced(part: exp.Expression) -> exp.Expression:
            if not isinstance(part, exp.Column) or part.table or isinstance(part.this, exp.Star):
                return part
            known = self.aliases.get(part.name.lower())
            if known is None or any(r.find(part.name) for r in self.scope.relations):
                return part
            self.rows.size.repeat(known, 1)
            copied: exp.Expression = known.copy()
            return copied

        if not self.aliases:
            return node
        found: exp.Expression = node.transform(replaced)
        return found


def _only(node: exp.Expression, known: frozenset[str]) -> None:
    for part, value in node.args.items():
        if value and part not in known:
            raise QueryRejected(f"{part.strip('_').upper()} is not supported.", error_code=SQL_PARSING)


def _ordinal(node: exp.Expression, items: int) -> int | None:
    """The place that a bare number names; None for every other expression."""
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    position = whole_number(str(node.this))
    if position is None or not 1 <= position <= items:
        raise QueryRejected(
            f"Position {str(node.this)[:40]} is not in the SELECT list of {items} items.", error_code=SQL_PARSING
        )
    return position - 1


def _page(node: exp.Expression) -> str:
    limit, offset = node.args.get("limit"), node.args.get("offset")
    text = ""
    if limit is not None:
        if not isinstance(limit, exp.Limit):
            raise QueryRejected("Only LIMIT n and OFFSET m are supported.", error_code=SQL_PARSING)
        _only(limit, frozenset({"expression"}))
        rows, most = _whole(limit.expression, "LIMIT"), query_bounds.current().rows
        if rows > most:
            raise QueryRejected(
                f"Value for 'LIMIT' ({rows}) exceeds maximum allowed value of {most}.",
                remedy="Ask for fewer rows, or raise PINOTADMIN_QUERY_MAX_ROWS.",
            )
        text += f" LIMIT {rows}"
    return text + (f" OFFSET {_whole(offset.expression, 'OFFSET')}" if offset is not None else "")


def _whole(node: exp.Expression | None, what: str) -> int:
    number = whole_number(str(node.this)) if isinstance(node, exp.Literal) and not node.is_string else None
    if number is None or number >= 2**31:
        raise QueryRejected(f"{what} must be a whole number from 0 to {2**31 - 1}.", error_code=SQL_PARSING)
    return number


def _common(left: Expr, right: Expr, position: int) -> Expr:
    if left.mv != right.mv or (left.mv and left.type != right.type):
        raise QueryRejected(f"Column {position + 1} of the two sides has different types.", remedy="Use CAST.")
    kind = left.type if left.type == right.type else functions.common_type([left, right], f"Column {position + 1}")
    return Expr(f"s{position}", kind, left.name, left.mv)


def _converted(side: Made, kinds: list[Expr]) -> str:
    columns = [
        f"{f's{i}' if e.mv else functions.convert(Expr(f's{i}', e.type, e.name), kinds[i].type)} AS s{i}"
        for i, e in enumerate(side.select)
    ]
    return f"(SELECT {', '.join(columns)} FROM ({side.sql}))"  # noqa: S608  # our own templates only
