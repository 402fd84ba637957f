"""Operators of SQL: how DuckDB writes each, and the function that Pinot means by it."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

ARITHMETIC: Final[dict[type, tuple[str, str]]] = {
    exp.Add: ("+", "plus"),
    exp.Sub: ("-", "minus"),
    exp.Mul: ("*", "times"),
    exp.Div: ("/", "divide"),
    exp.Mod: ("%", "mod"),
}
COMPARISONS: Final[dict[type, tuple[str, str]]] = {
    exp.EQ: ("=", "equals"),
    exp.NEQ: ("<>", "notEquals"),
    exp.GT: (">", "greaterThan"),
    exp.GTE: (">=", "greaterThanOrEqual"),
    exp.LT: ("<", "lessThan"),
    exp.LTE: ("<=", "lessThanOrEqual"),
}
