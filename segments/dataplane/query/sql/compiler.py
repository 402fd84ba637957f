"""Compile a parsed expression: checks every node against what is allowed, resolves columns, writes DuckDB text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Protocol

from sqlglot import exp

from segments.dataplane.query.aggregate import is_aggregation
from segments.dataplane.query.nulls import RECORDED_PREFIX, null_of, prefix_of
from segments.dataplane.query.sql.plan_size import PlanSize
from segments.domain.tables.schema import Schema
from segments.expressions.casts import CASTS, REMEDY
from segments.expressions.duckdb import functions
from segments.expressions.duckdb.calls import call
from segments.expressions.duckdb.compiled import (
    NUMERIC,
    Expr,
    as_double,
    as_text,
    coerce,
    literal,
    parse_number,
    quote,
)
from segments.expressions.function import canonical
from segments.expressions.operators import ARITHMETIC, COMPARISONS
from segments.expressions.query_errors import SQL_PARSING, UNKNOWN_COLUMN, QueryRejected

#: Virtual columns and their types; a server knows their values without reading the segment.
VIRTUAL: Final[dict[str, str]] = {"$segmentName": "STRING", "$docId": "INT", "$hostName": "STRING"}
_OPERATORS: Final = {kind: (mark, canonical(name)) for kind, (mark, name) in (ARITHMETIC | COMPARISONS).items()}
_FLIPPED: Final = {"=": "=", "<>": "<>", ">": "<", ">=": "<=", "<": ">", "<=": ">="}

#: Parts of parsed nodes that this compiler heeds; the parser puts the meaning of other syntax into further parts.
_PARTS: Final = frozenset({"this", "expression", "expressions"})
_MORE_PARTS: Final[dict[type, frozenset[str]]] = {
    exp.Like: frozenset({"negate"}),
    exp.Is: frozenset({"negate"}),
    exp.Between: frozenset({"low", "high"}),
    exp.Case: frozenset({"ifs", "default"}),
    exp.Cast: frozenset({"to"}),
    exp.DPipe: frozenset({"safe"}),
    exp.Div: frozenset({"typed", "safe"}),
    exp.Column: frozenset({"table", "db"}),
    exp.Literal: frozenset({"is_string"}),
    exp.Ordered: frozenset({"desc", "nulls_first"}),
}


def check_parts(node: exp.Expression) -> None:
    """Raises QueryRejected when a node carries a part that would be ignored (``BETWEEN SYMMETRIC``, ``CAST ...
    FORMAT``).
    """
    known = _PARTS | _MORE_PARTS.get(type(node), frozenset())
    if any(value and part not in known for part, value in node.args.items()):
        raise QueryRejected(f"'{_shown(node)}' is not supported.", error_code=SQL_PARSING)


@dataclass
class Columns:
    """Resolves names against the schema and numbers the columns used: column i is ``c<i>`` in the text for DuckDB."""

    schema: Schema
    tables: frozenset[str]
    used: dict[str, int] = field(default_factory=dict)

    @cached_property
    def _by_lower(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in (*self.schema.by_name, *VIRTUAL):
            found.setdefault(name.lower(), []).append(name)
        return found

    def resolve(self, node: exp.Column) -> Expr:
        """A column as an expression. Raises QueryRejected (710) naming a column that does not exist."""
        name, table = node.name, node.table
        if node.args.get("db") or (table and table not in self.tables):
            raise QueryRejected(
                f"Table '{table}' of column '{name}' is not the table of the query.", error_code=UNKNOWN_COLUMN
            )
        return self.column(self._actual(name))

    def column(self, name: str) -> Expr:
        """The column of this exact name."""
        position = self.used.setdefault(name, len(self.used))
        if name in VIRTUAL:
            return Expr(f"c{position}", VIRTUAL[name], name)
        if null_of(name) is not None:
            return Expr(f"c{position}", "BOOLEAN", name)
        spec = self.schema.by_name[name]
        mv = not spec.single_value
        if spec.data_type == "BOOLEAN":
            return Expr(
                f"list_transform(c{position}, lambda b: b <> 0)" if mv else f"(c{position} <> 0)", "BOOLEAN", name, mv
            )
        return Expr(f"c{position}", spec.data_type, name, mv)

    def _actual(self, name: str) -> str:
        if name in self.schema.by_name or name in VIRTUAL:
            return name
        if (column := null_of(name)) is not None:
            return prefix_of(name) + self._actual(column)
        alike = self._by_lower.get(name.lower(), [])
        if len(alike) != 1:
            raise QueryRejected(
                f"Unknown column '{name}' in table of schema '{self.schema.name}'.",
                error_code=UNKNOWN_COLUMN, remedy=f"Columns are {', '.join(sorted(self.schema.by_name))}.",
            )  # fmt: skip
        return alike[0]


class ResolvesColumns(Protocol):
    """Knows what the names of columns mean."""

    def resolve(self, node: exp.Column) -> Expr:
        """A column as an expression. Raises QueryRejected (710) naming a column that does not exist."""
        ...


class Compiler:
    """Compiles expressions over rows; ``PostCompiler`` changes what columns and aggregations mean."""

    def __init__(self, columns: ResolvesColumns, now: int) -> None:
        self.columns = columns
        self.now = now
        self.size = PlanSize()

    def compile(self, node: exp.Expression) -> Expr:
        """An expression. Raises QueryRejected that names the part which is not supported."""
        check_parts(node)
        kind: type = type(node)
        if kind in _OPERATORS:
            operator, name = _OPERATORS[kind]
            left, right = self.compile(node.this), self.compile(node.expression)
            make = functions.arithmetic if kind in ARITHMETIC else compare
            made = make(operator, left, right)
            return self.size.add(made.named(f"{name}({left.name},{right.name})"))
        handler = _HANDLERS.get(kind)
        if handler is None:
            raise QueryRejected(f"'{_shown(node)}' is not supported.", error_code=SQL_PARSING)
        return self.size.add(handler(self, node))

    def predicate(self, node: exp.Expression) -> Expr:
        """An expression that must be true or false."""
        found = self.compile(node)
        if found.type != "BOOLEAN" or found.mv:
            raise QueryRejected(f"'{found.name}' is not a condition.", remedy="Compare it with a value.")
        return found

    def column(self, node: exp.Column) -> Expr:
        """A column of the row."""
        if isinstance(node.this, exp.Star):
            raise QueryRejected("'*' stands alone in SELECT or in COUNT(*).", error_code=SQL_PARSING)
        return self.columns.resolve(node)

    def null_mark(self, node: exp.Expression) -> Expr | None:
        """Whether a column of the row was null where that is recorded; None for what is never null."""
        column = node.unnest()
        if not isinstance(column, exp.Column) or isinstance(column.this, exp.Star):
            return None
        return self.recorded_null(column)

    def recorded_null(self, column: exp.Column) -> Expr | None:
        """The same of a column; None for a virtual one."""
        name = self.columns.resolve(column).name
        if name in VIRTUAL or null_of(name) is not None:
            return None
        mark = exp.to_identifier(RECORDED_PREFIX + column.name, quoted=True)
        return self.columns.resolve(exp.Column(this=mark, table=column.args.get("table")))

    def call(self, node: exp.Anonymous) -> Expr:
        """A function call by name."""
        if is_aggregation(str(node.this)):
            raise QueryRejected(
                f"Aggregation '{_shown(node)}' cannot stand here.", remedy="Use it in SELECT, HAVING or ORDER BY."
            )
        if any(isinstance(a, (exp.Distinct, exp.Star)) for a in node.expressions):
            raise QueryRejected(f"'{_shown(node)}' is not supported.")
        return call(str(node.this), [self.compile(a) for a in node.expressions], self.now)


def compare(operator: str, left: Expr, right: Expr) -> Expr:
    """A comparison; constants take the type of the other side. On multi-value columns any value counts, for <> all must
    differ.
    """
    if left.constant and not right.constant:
        return compare(_FLIPPED[operator], right, left)
    if right.mv:
        raise QueryRejected(f"Multi-value column '{right.name}' can only be compared with a constant.")
    if right.constant and right.value is None:
        return Expr("FALSE", "BOOLEAN", "")
    other = coerce(right, left.type) if right.constant else right
    return functions.any_value(left, lambda one: _compared(operator, one, other), all_values=operator == "<>")


def _compared(operator: str, left: Expr, right: Expr) -> str:
    both = {left.type, right.type}
    if "BIG_DECIMAL" in both:
        return f"({as_double(left)} {operator} {as_double(right)})"
    comparable = (
        len(both) == 1 or both <= NUMERIC | {"TIMESTAMP"} or both <= {"STRING", "JSON"} or both <= {"BYTES", "UUID"}
    )
    if not comparable:
        raise QueryRejected(
            f"'{left.name}' ({left.type}) cannot be compared with '{right.name}' ({right.type}).", remedy="Use CAST."
        )
    return f"({left.sql} {operator} {right.sql})"


def _literal(_: Compiler, node: exp.Literal) -> Expr:
    return literal(str(node.this)) if node.is_string else literal(parse_number(str(node.this)))


def _negative(self: Compiler, node: exp.Neg) -> Expr:
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        return literal(parse_number("-" + str(node.this.this)))
    inner = self.compile(node.this)
    return functions.arithmetic("-", literal(0), inner).named(f"minus('0',{inner.name})")


def _boolean_pair(self: Compiler, node: exp.And | exp.Or) -> Expr:
    """A chain of AND or OR; walked in a loop, because generated queries hold thousands of terms."""
    kind, operands, at = type(node), list[exp.Expression](), node
    while isinstance(at, kind):
        operands.append(at.expression)
        at = at.this
    parts = [self.predicate(o) for o in (at, *reversed(operands))]
    word = "and" if kind is exp.And else "or"
    return Expr(
        "(" + f" {word.upper()} ".join(p.sql for p in parts) + ")",
        "BOOLEAN",
        f"{word}({','.join(p.name for p in parts)})",
    )


def _not(self: Compiler, node: exp.Not) -> Expr:
    is_test = isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null)
    if is_test and not node.this.args.get("negate"):
        return _is_null(self, node.this, negated=True)
    if isinstance(node.this, exp.In):
        check_parts(node.this)
        return _in(self, node.this, negated=True)
    part = self.predicate(node.this)
    return Expr(f"(NOT {part.sql})", "BOOLEAN", f"not({part.name})")


def _is_null(self: Compiler, node: exp.Is, *, negated: bool) -> Expr:
    """As Pinot: by what segments record; what is no column is never null."""
    inner, mark = self.compile(node.this), self.null_mark(node.this)
    sql = f"({'NOT ' * negated}{mark.sql})" if mark else str(negated).upper()
    return Expr(sql, "BOOLEAN", f"{'isnotnull' if negated else 'isnull'}({inner.name})")


def _is(self: Compiler, node: exp.Is) -> Expr:
    negated = bool(node.args.get("negate"))
    if isinstance(node.expression, exp.Null):
        return _is_null(self, node, negated=negated)
    inner = self.compile(node.this)
    if isinstance(node.expression, exp.Boolean) and inner.type == "BOOLEAN" and not inner.mv:
        word = str(bool(node.expression.this) != negated).lower()
        return Expr(inner.sql if word == "true" else f"(NOT {inner.sql})", "BOOLEAN", f"is{word}({inner.name})")
    raise QueryRejected(f"'{_shown(node)}' is not supported.", remedy="Use IS NULL, IS TRUE or a comparison.")


def _in(self: Compiler, node: exp.In, *, negated: bool = False) -> Expr:
    if not node.expressions:
        raise QueryRejected(f"'{_shown(node)}' is not supported.", remedy="Give a list of constants in parentheses.")
    left = self.compile(node.this)
    items = [self.compile(item) for item in node.expressions]
    if not all(i.constant for i in items):
        raise QueryRejected("IN takes constants only.", remedy="Write a = b OR a = c.")
    values = [coerce(i, left.type) for i in items]
    word, decimal = "NOT IN" if negated else "IN", left.type == "BIG_DECIMAL"
    # Whole numbers go in bare: a cast of each costs DuckDB more than the scan when there are thousands.
    listed = ", ".join(as_double(v) if decimal else str(v.value) if type(v.value) is int else v.sql for v in values)
    found = functions.any_value(
        left, lambda one: f"({as_double(one) if decimal else one.sql} {word} ({listed}))", all_values=negated
    )
    return found.named(f"{'notin' if negated else 'in'}({','.join(e.name for e in (left, *items))})")


def _between(self: Compiler, node: exp.Between) -> Expr:
    left, low, high = (self.compile(node.args[part]) for part in ("this", "low", "high"))
    first, last = (coerce(e, left.type) if e.constant and not left.constant else e for e in (low, high))
    name = f"between({left.name},{low.name},{high.name})"
    return functions.any_value(left, lambda o: f"({_compared('>=', o, first)} AND {_compared('<=', o, last)})").named(
        name
    )


def _like(self: Compiler, node: exp.Like) -> Expr:
    left, pattern = self.compile(node.this), self.compile(node.expression)
    if not pattern.constant or not isinstance(pattern.value, str):
        raise QueryRejected("LIKE takes a constant pattern.")
    escape = quote("\\")
    found = functions.any_value(left, lambda one: f"({as_text(one)} LIKE {pattern.sql} ESCAPE {escape})")
    label = f"like({left.name},{pattern.name})"
    return Expr(f"(NOT {found.sql})", "BOOLEAN", f"not({label})") if node.args.get("negate") else found.named(label)


def _case(self: Compiler, node: exp.Case) -> Expr:
    """CASE; without ELSE the placeholder of the type ('' or 0), because null handling is off."""
    if node.this:
        self.size.repeat(node.this, len(node.args["ifs"]))
    whens = [exp.EQ(this=node.this.copy(), expression=i.this.copy()) if node.this else i.this for i in node.args["ifs"]]
    conditions = [self.predicate(w) for w in whens]
    results = [self.compile(i.args["true"]) for i in node.args["ifs"]]
    default = node.args.get("default")
    given = [*results, self.compile(default)] if default is not None else results
    kind = functions.common_type(given, "CASE")
    if default is None:
        given = [*results, literal("" if kind in ("STRING", "JSON") else 0)]
    texts = [functions.convert(e, kind) for e in given]
    body = " ".join(f"WHEN {c.sql} THEN {t}" for c, t in zip(conditions, texts, strict=False))
    name = f"case({','.join(e.name for e in (*conditions, *given))})"
    return Expr(f"CASE {body} ELSE {texts[-1]} END", kind, name)


def _cast(self: Compiler, node: exp.Cast) -> Expr:
    inner, to = self.compile(node.this), node.args["to"]
    check_parts(to)
    kind = None if to.expressions else CASTS.get(to.this.name if hasattr(to.this, "name") else str(to.this))
    if kind is None:
        raise QueryRejected(f"CAST to '{_shown(to)}' is not supported.", remedy=REMEDY)
    return Expr(functions.convert(inner, kind), kind, f"cast({inner.name},'{kind}')")


def _extract(self: Compiler, node: exp.Extract) -> Expr:
    return call(str(node.this.name), [self.compile(node.expression)], self.now)


def _concat(self: Compiler, node: exp.DPipe) -> Expr:
    return call("concat", [self.compile(node.this), self.compile(node.expression)], self.now)


def _shown(node: exp.Expression) -> str:
    """The part of the query as a person would write it, for messages."""
    try:
        text = str(node.sql())
    except (ValueError, RecursionError):
        text = node.key
    return text if len(text) <= 80 else text[:77] + "..."


_HANDLERS: Final[dict[type, Callable[..., Expr]]] = {
    exp.Literal: _literal,
    exp.Neg: _negative,
    exp.And: _boolean_pair,
    exp.Or: _boolean_pair,
    exp.Not: _not,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _like,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.Extract: _extract,
    exp.DPipe: _concat,
    exp.Boolean: lambda _, node: literal(bool(node.this)),
    exp.Null: lambda _, node: Expr("NULL", "STRING", "'null'", constant=True),
    exp.Paren: lambda self, node: self.compile(node.this),
    exp.Column: lambda self, node: self.column(node),
    exp.Anonymous: lambda self, node: self.call(node),
}
