"""Parses ingestion expressions such as ``toEpochDays(ts) > 19000 AND NOT startsWith(city, 'x')`` into a tree.

The grammar is the part of Pinot's SQL expressions that ingestion uses: columns (bare or in double quotes), literals,
function calls, comparisons, arithmetic, AND, OR, NOT, IS [NOT] NULL, [NOT] IN, [NOT] BETWEEN, CAST.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from sqlglot import exp
from sqlglot.errors import SqlglotError

from segments.errors import InvalidInput
from segments.expressions.ingestion_tokens import Leaf, read_expression, too_deep
from segments.expressions.operators import ARITHMETIC, COMPARISONS
from segments.expressions.query_errors import QueryRejected
from segments.expressions.sql import PinotSql


@dataclass(frozen=True)
class Column:
    """A column of the input, or one that another transform makes."""

    name: str


@dataclass(frozen=True)
class Literal:
    """A constant: text, whole or decimal number, true, false or null."""

    value: str | int | float | bool | None


@dataclass(frozen=True)
class Call:
    """A function and its arguments; operators are calls of the functions that Pinot gives them."""

    function: str
    arguments: tuple[Expression, ...]


Expression = Column | Literal | Call


@lru_cache(maxsize=256)
def parse_expression(text: str) -> Expression:
    """The tree of an expression. Raises InvalidInput naming the place that does not parse; a Groovy script is refused
    by its name.
    """
    tokens, leaves = read_expression(text)
    try:
        found = _IngestionSql().parser().parse_into(exp.Condition, tokens, text)[0]
        return _Trees(text, leaves).tree(found or exp.Null())
    except RecursionError as error:
        raise too_deep(text) from error
    except (SqlglotError, QueryRejected) as error:
        raise InvalidInput(f"The expression '{text[:120]}' cannot be read.") from error


def columns_of(expression: Expression) -> frozenset[str]:
    """Names of all columns it reads."""
    if isinstance(expression, Column):
        return frozenset({expression.name})
    if isinstance(expression, Literal):
        return frozenset()
    return frozenset().union(*map(columns_of, expression.arguments))


def functions_of(expression: Expression) -> frozenset[str]:
    """Names of all functions it calls, as written."""
    if not isinstance(expression, Call):
        return frozenset()
    return frozenset({expression.function}).union(*map(functions_of, expression.arguments))


class _IngestionSql(PinotSql):
    """Keeps ``NOT a IS NULL`` and ``a IS NOT NULL`` apart."""

    NORMALIZE_NOT_NULL = False


class _Trees:
    """Makes our trees of the parser's; ``leaves`` are what the texts of its names and constants stand for."""

    def __init__(self, text: str, leaves: list[Leaf]) -> None:
        self._text = text
        self._leaves = leaves
        self._depth = 0

    def tree(self, node: exp.Expr) -> Expression:
        """The tree of a node and all below it. Raises InvalidInput for one that is too deep to be evaluated."""
        self._depth += 1
        if self._depth > _MAX_LEVELS:
            raise too_deep(self._text)
        name = _OPERATORS.get(type(node))
        found = self._other(node) if name is None else Call(name, (self.tree(node.this), self.tree(node.expression)))
        self._depth -= 1
        return found

    def _other(self, node: exp.Expr) -> Expression:
        match node:
            case exp.Paren():
                return self.tree(node.this)
            case exp.Column():
                return Column(str(self._leaf(node.this.this)))
            case exp.Literal():
                return Literal(self._leaf(node.this))
            case exp.Null():
                return Literal(None)
            case exp.Anonymous():
                return self._call(str(self._leaf(node.this)), *node.expressions)
            case exp.And() | exp.Or():
                return self._chain(node)
            case exp.Not():
                return self._call("not", node.this)
            case exp.Neg():
                return self._negative(self.tree(node.this))
            case exp.Is():
                return self._call("isNotNull" if node.args.get("negate") else "isNull", node.this)
            case exp.In():
                return self._call("in", node.this, *node.expressions)
            case exp.Between():
                return self._call("between", node.this, node.args["low"], node.args["high"])
        raise SqlglotError(f"{node.key} is not part of an expression")

    def _call(self, function: str, *arguments: exp.Expr) -> Call:
        return Call(function, tuple(map(self.tree, arguments)))

    def _leaf(self, position: str) -> Leaf:
        return self._leaves[int(position)]

    def _chain(self, node: exp.Expr) -> Call:
        """AND or OR of all terms that no bracket holds together; in a loop, because generated ones have thousands."""
        kind, terms, at = type(node), list[exp.Expr](), node
        while isinstance(at, kind):
            terms.append(at.expression)
            at = at.this
        return self._call("and" if kind is exp.And else "or", at, *reversed(terms))

    def _negative(self, value: Expression) -> Expression:
        if isinstance(value, Literal) and isinstance(value.value, int | float) and not isinstance(value.value, bool):
            return Literal(-value.value)
        return Call("minus", (Literal(0), value))


#: Calls within calls; a long sum is as deep as it has terms.
_MAX_LEVELS: Final = 480
_OPERATORS: Final[dict[type, str]] = {kind: name for kind, (_, name) in (ARITHMETIC | COMPARISONS).items()}
