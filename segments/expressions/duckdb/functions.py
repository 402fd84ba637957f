"""Pinot's functions as DuckDB text, but for those of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from segments.expressions.duckdb.compiled import (
    NUMERIC,
    Expr,
    as_double,
    as_long,
    as_text,
    coerce,
    constant_text,
    literal,
    quote,
)
from segments.expressions.query_errors import QueryRejected

Build = Callable[[Sequence[Expr]], Expr]


def arithmetic(operator: str, left: Expr, right: Expr) -> Expr:
    """``+ - * / %`` of two numbers, DOUBLE as in Pinot; whole constants stay whole."""
    if (
        left.constant
        and right.constant
        and operator in "+-*"
        and isinstance(left.value, int)
        and isinstance(right.value, int)
    ):
        value = {"+": left.value + right.value, "-": left.value - right.value, "*": left.value * right.value}[operator]
        if abs(value) < 2**63:
            return literal(value)
    first, second = as_double(left), as_double(right)
    return Expr(f"fmod({first}, {second})" if operator == "%" else f"({first} {operator} {second})", "DOUBLE", "")


def common_type(options: Sequence[Expr], what: str) -> str:
    """The type that holds all of them: the widest number, else the one type. Raises QueryRejected for a mixture."""
    kinds = {o.type for o in options if not (o.constant and o.value is None)}
    if len(kinds) == 1:
        return kinds.pop()
    order = ("INT", "LONG", "FLOAT", "DOUBLE")
    if kinds <= NUMERIC and kinds:
        return "DOUBLE" if kinds == {"LONG", "FLOAT"} else max(kinds, key=order.index)
    if not kinds or "STRING" in kinds:
        return "STRING"
    raise QueryRejected(
        f"{what} mixes the types {', '.join(sorted(kinds))}.", remedy="Use CAST to bring them to one type."
    )


def convert(expr: Expr, kind: str) -> str:
    """The expression as DuckDB text of a Pinot type (the CAST function); fractions are cut off, not rounded."""
    if expr.constant and expr.value is not None and kind not in ("STRING", "JSON"):
        return coerce(expr, kind).sql if kind not in ("INT", "LONG") else literal(int(float(expr.value)), kind).sql
    match kind:
        case _ if kind == expr.type and not expr.mv:
            return expr.sql
        case "INT" | "LONG":
            return f"CAST({as_long(expr)} AS {'INTEGER' if kind == 'INT' else 'BIGINT'})"
        case "DOUBLE" | "FLOAT":
            return f"CAST({as_double(expr)} AS {kind})"
        case "BOOLEAN":
            return (
                f"(lower({as_text(expr)}) IN ('true', '1'))" if expr.type == "STRING" else f"({as_double(expr)} <> 0)"
            )
        case "TIMESTAMP":
            return f"epoch_ms(CAST({expr.sql} AS TIMESTAMP))" if expr.type == "STRING" else as_long(expr)
        case "STRING" | "JSON":
            return as_text(expr)
    raise QueryRejected(f"CAST to {kind} is not supported.")


def of_texts(template: str, kind: str = "STRING") -> Build:
    """A function of texts, as a template of DuckDB text with {} for each."""
    return lambda args: Expr(template.format(*(as_text(a) for a in args)), kind, "")


def of_doubles(template: str, kind: str = "DOUBLE") -> Build:
    """A function of DOUBLEs, as a template of DuckDB text with {} for each."""
    return lambda args: Expr(template.format(*(as_double(a) for a in args)), kind, "")


def binary(operator: str) -> Build:
    """``plus(a, b)`` and its sisters."""
    return lambda args: arithmetic(operator, args[0], args[1])


def substr(args: Sequence[Expr]) -> Expr:
    """substr(text, begin[, end]): begin counts from 0, end is exclusive, -1 means to the end."""
    text, begin = as_text(args[0]), as_long(args[1])
    if len(args) == 2 or args[2].value == -1:
        return Expr(f"substring({text}, greatest({begin}, 0) + 1)", "STRING", "")
    return Expr(
        f"substring({text}, greatest({begin}, 0) + 1, greatest({as_long(args[2])} - greatest({begin}, 0), 0))",
        "STRING",
        "",
    )


def substring(args: Sequence[Expr]) -> Expr:
    """substring(text, begin[, length]): begin counts from 1."""
    rest = "" if len(args) == 2 else f", greatest({as_long(args[2])}, 0)"
    return Expr(f"substring({as_text(args[0])}, {as_long(args[1])}{rest})", "STRING", "")


def concat(args: Sequence[Expr]) -> Expr:
    """concat(a, b[, separator])."""
    first, second = as_text(args[0]), as_text(args[1])
    return Expr(
        f"({first} || {as_text(args[2])} || {second})" if len(args) == 3 else f"({first} || {second})", "STRING", ""
    )


def rounded(args: Sequence[Expr]) -> Expr:
    """round(value, multiple) goes down to a multiple, as Pinot's does; round(value) to the nearest whole number."""
    if len(args) == 1:
        return Expr(f"floor({as_double(args[0])} + 0.5)", "DOUBLE", "")
    return Expr(f"(({as_long(args[0])} // {as_long(args[1])}) * {as_long(args[1])})", "LONG", "")


def extreme(function: str, args: Sequence[Expr]) -> Expr:
    """least() or greatest(), in the type that holds all arguments."""
    kind = common_type(args, f"{function}()")
    return Expr(f"{function}({', '.join(convert(a, kind) for a in args)})", kind, "")


def regexp_like(args: Sequence[Expr]) -> Expr:
    """regexp_like(text, pattern[, 'i']): true when the pattern is found anywhere."""
    pattern = constant_text(args, 1, "", "The pattern of regexp_like()")
    flags = constant_text(args, 2, "c", "The match parameter of regexp_like()")
    if flags not in ("c", "i"):
        raise QueryRejected(f"regexp_like() knows no match parameter '{flags}'.", remedy="Use 'c' or 'i'.")
    return any_value(args[0], lambda one: f"regexp_matches({as_text(one)}, {quote(pattern)}, {quote(flags)})")


def json_extract_scalar(args: Sequence[Expr]) -> Expr:
    """jsonExtractScalar(column, path, type[, default]); a row without the path fails the query unless a default is
    given, as in Pinot.
    """
    path = constant_text(args, 1, "", "The path of jsonExtractScalar()")
    kind = constant_text(args, 2, "", "The type of jsonExtractScalar()").upper()
    if not path.startswith("$") or kind not in (*NUMERIC, "STRING", "BOOLEAN", "TIMESTAMP"):
        raise QueryRejected("jsonExtractScalar() takes a path that begins with $ and one of the simple types.")
    found = f"json_extract_string({as_text(args[0])}, {quote(path)})"
    missing = f"error({quote(f'jsonExtractScalar() found no value at {path}; give a default as fourth argument.')})"
    rest = as_text(coerce(args[3], "STRING")) if len(args) == 4 else missing
    return Expr(convert(Expr(f"coalesce({found}, {rest})", "STRING", ""), kind), kind, "")


def any_value(expr: Expr, predicate: Callable[[Expr], str], *, all_values: bool = False) -> Expr:
    """A predicate on one value, or on a multi-value column: true when any value (or all values) satisfies it."""
    if not expr.mv:
        return Expr(predicate(expr), "BOOLEAN", "")
    one = predicate(Expr("x", expr.type, expr.name))
    if all_values:
        return Expr(f"(len(list_filter({expr.sql}, lambda x: NOT ({one}))) = 0)", "BOOLEAN", "")
    return Expr(f"(len(list_filter({expr.sql}, lambda x: {one})) > 0)", "BOOLEAN", "")


def array_number(function: str, kind: str | None) -> Build:
    """A number of a multi-value column; DOUBLE unless ``kind`` is given."""

    def build(args: Sequence[Expr]) -> Expr:
        if not args[0].mv:
            raise QueryRejected(f"'{args[0].name}' is not a multi-value column.")
        return Expr(
            f"CAST({function}({args[0].sql}) AS {'INTEGER' if kind == 'INT' else 'DOUBLE'})", kind or "DOUBLE", ""
        )

    return build


def array_extreme(function: str, args: Sequence[Expr]) -> Expr:
    """The least or greatest value of a multi-value column."""
    if not args[0].mv:
        raise QueryRejected(f"'{args[0].name}' is not a multi-value column.")
    return Expr(f"{function}({args[0].sql})", args[0].type, "")


def round_decimal(args: Sequence[Expr]) -> Expr:
    """roundDecimal(value[, scale])."""
    return Expr(
        f"round({as_double(args[0])}, CAST({as_long(args[1]) if len(args) > 1 else 0} AS INTEGER))", "DOUBLE", ""
    )


def to_timestamp(args: Sequence[Expr]) -> Expr:
    """toTimestamp(value): milliseconds, or a text as ``CAST`` reads it."""
    return Expr(convert(args[0], "TIMESTAMP"), "TIMESTAMP", "")
