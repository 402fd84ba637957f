"""Which conditions of WHERE the servers can apply already: comparisons of one column of a table with constants.

They stay in WHERE as well. None of them holds for null, so they are right on every side of an outer join, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from sqlglot import exp

from segments.dataplane.query.multistage.scope import Scope, TableRelation

_MARKS: Final[dict[type, str]] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=",
}  # fmt: skip


def push_down(where: exp.Expression, scope: Scope, is_read_once: Callable[[str], bool]) -> None:
    """Add what can be applied to the scans of the tables of ``scope`` that no other place reads."""
    for condition in _conjuncts(where):
        column = condition.this if isinstance(condition.this, exp.Column) else None
        text = _constants(condition) if column is not None else None
        if column is None or text is None or isinstance(column.this, exp.Star):
            continue
        relation, found = scope.find(column)
        if isinstance(relation, TableRelation) and any(relation is r for r in scope.relations):
            name = relation.column_of(found)
            if name is not None and not found.mv and is_read_once(relation.scan.table):
                quoted = '"' + name.replace('"', '""') + '"'
                relation.scan.filters.append(f"{quoted} {text}")


def _conjuncts(node: exp.Expression) -> Iterator[exp.Expression]:
    left = [node]
    while left:
        at = left.pop()
        if isinstance(at, exp.Paren):
            left.append(at.this)
        elif isinstance(at, exp.And):
            left += [at.expression, at.this]
        else:
            yield at


def _constants(node: exp.Expression) -> str | None:
    """What follows the column, in Pinot's SQL; None for everything but comparisons with constants."""
    if type(node) in _MARKS:
        value = _literal(node.expression)
        return None if value is None else f"{_MARKS[type(node)]} {value}"
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        low, high = _literal(node.args["low"]), _literal(node.args["high"])
        return None if low is None or high is None else f"BETWEEN {low} AND {high}"
    if isinstance(node, exp.In) and node.expressions:
        values = [_literal(value) for value in node.expressions]
        return None if None in values else f"IN ({', '.join(str(v) for v in values)})"
    return None


def _literal(node: exp.Expression) -> str | None:
    if isinstance(node, exp.Neg):
        inner = _literal(node.this) if isinstance(node.this, exp.Literal) and not node.this.is_string else None
        return None if inner is None else f"-{inner}"
    if not isinstance(node, exp.Literal):
        return None
    text = str(node.this)
    return "'" + text.replace("'", "''") + "'" if node.is_string else text
