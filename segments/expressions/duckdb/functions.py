"""The allow list of scalar functions: Pinot's name, number of arguments, and how each is said in DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from segments.expressions.duckdb import times
from segments.expressions.duckdb.compiled import NUMERIC, Expr, as_double, as_long, as_text, coerce, literal, quote
from segments.expressions.rejected import QueryRejected

Build = Callable[[Sequence[Expr]], Expr]


@dataclass(frozen=True)
class Function:
    """One allowed function: how many arguments it takes and how it is built (the caller names the result)."""

    least: int
    most: int
    build: Build


def canonical(name: str) -> str:
    """Pinot's canonical function name: lower case, without underscores."""
    return name.replace("_", "").lower()


def call(name: str, args: Sequence[Expr], now: int) -> Expr:
    """A call of an allowed function. Raises QueryRejected that names an unknown function or a wrong number of
    arguments.
    """
    key = canonical(name)
    label = f"{key}({','.join(a.name for a in args)})"
    if key in ("now", "ago"):
        if len(args) != (key == "ago"):
            raise QueryRejected(f"{key}() takes {int(key == 'ago')} arguments, not {len(args)}.")
        return (times.ago(args, now) if args else literal(now, "LONG")).named(label)
    function = FUNCTIONS.get(key)
    if function is None:
        raise QueryRejected(
            f"Function '{name}' is not supported.", remedy=f"Supported are {', '.join(sorted(FUNCTIONS))}."
        )
    if not function.least <= len(args) <= function.most:
        wanted = str(function.least) if function.least == function.most else f"{function.least} to {function.most}"
        raise QueryRejected(f"{key}() takes {wanted} arguments, not {len(args)}.")
    return function.build(args).named(label)


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


def _texts(template: str, kind: str = "STRING") -> Build:
    return lambda args: Expr(template.format(*(as_text(a) for a in args)), kind, "")


def _doubles(template: str, kind: str = "DOUBLE") -> Build:
    return lambda args: Expr(template.format(*(as_double(a) for a in args)), kind, "")


def _timed(build: Callable[[Sequence[Expr]], str], kind: str) -> Build:
    return lambda args: Expr(build(args), kind, "")


def _binary(operator: str) -> Build:
    return lambda args: arithmetic(operator, args[0], args[1])


def _substr(args: Sequence[Expr]) -> Expr:
    """substr(text, begin[, end]): begin counts from 0, end is exclusive, -1 means to the end."""
    text, begin = as_text(args[0]), as_long(args[1])
    if len(args) == 2 or args[2].value == -1:
        return Expr(f"substring({text}, greatest({begin}, 0) + 1)", "STRING", "")
    return Expr(
        f"substring({text}, greatest({begin}, 0) + 1, greatest({as_long(args[2])} - greatest({begin}, 0), 0))",
        "STRING",
        "",
    )


def _substring(args: Sequence[Expr]) -> Expr:
    """substring(text, begin[, length]): begin counts from 1."""
    rest = "" if len(args) == 2 else f", greatest({as_long(args[2])}, 0)"
    return Expr(f"substring({as_text(args[0])}, {as_long(args[1])}{rest})", "STRING", "")


def _concat(args: Sequence[Expr]) -> Expr:
    """concat(a, b[, separator])."""
    first, second = as_text(args[0]), as_text(args[1])
    return Expr(
        f"({first} || {as_text(args[2])} || {second})" if len(args) == 3 else f"({first} || {second})", "STRING", ""
    )


def _round(args: Sequence[Expr]) -> Expr:
    """round(value, multiple) goes down to a multiple, as Pinot's does; round(value) to the nearest whole number."""
    if len(args) == 1:
        return Expr(f"floor({as_double(args[0])} + 0.5)", "DOUBLE", "")
    return Expr(f"(({as_long(args[0])} // {as_long(args[1])}) * {as_long(args[1])})", "LONG", "")


def _extreme(function: str, args: Sequence[Expr]) -> Expr:
    kind = common_type(args, f"{function}()")
    return Expr(f"{function}({', '.join(convert(a, kind) for a in args)})", kind, "")


def _regexp(args: Sequence[Expr]) -> Expr:
    """regexp_like(text, pattern[, 'i']): true when the pattern is found anywhere."""
    pattern = times.constant_text(args, 1, "", "The pattern of regexp_like()")
    flags = times.constant_text(args, 2, "c", "The match parameter of regexp_like()")
    if flags not in ("c", "i"):
        raise QueryRejected(f"regexp_like() knows no match parameter '{flags}'.", remedy="Use 'c' or 'i'.")
    return any_value(args[0], lambda one: f"regexp_matches({as_text(one)}, {quote(pattern)}, {quote(flags)})")


def _json_scalar(args: Sequence[Expr]) -> Expr:
    """jsonExtractScalar(column, path, type[, default]); a row without the path fails the query unless a default is
    given, as in Pinot.
    """
    path = times.constant_text(args, 1, "", "The path of jsonExtractScalar()")
    kind = times.constant_text(args, 2, "", "The type of jsonExtractScalar()").upper()
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


def _array(function: str, kind: str | None) -> Build:
    def build(args: Sequence[Expr]) -> Expr:
        if not args[0].mv:
            raise QueryRejected(f"'{args[0].name}' is no multi-value column.")
        return Expr(
            f"CAST({function}({args[0].sql}) AS {'INTEGER' if kind == 'INT' else 'DOUBLE'})", kind or "DOUBLE", ""
        )

    return build


def _array_extreme(function: str, args: Sequence[Expr]) -> Expr:
    if not args[0].mv:
        raise QueryRejected(f"'{args[0].name}' is no multi-value column.")
    return Expr(f"{function}({args[0].sql})", args[0].type, "")


def _date_functions() -> dict[str, Function]:
    found = {name: Function(1, 2, _timed(partial(times.date_part, name), "INT")) for name in times.PARTS}
    for unit in ("seconds", "minutes", "hours", "days"):
        found[f"toepoch{unit}"] = Function(1, 1, _timed(partial(times.to_epoch, unit), "LONG"))
        found[f"toepoch{unit}rounded"] = Function(2, 2, _timed(partial(times.to_epoch_rounded, unit), "LONG"))
        found[f"toepoch{unit}bucket"] = Function(2, 2, _timed(partial(times.to_epoch_bucket, unit), "LONG"))
        found[f"fromepoch{unit}"] = Function(1, 1, _timed(partial(times.from_epoch, unit), "LONG"))
    return found


def _round_decimal(args: Sequence[Expr]) -> Expr:
    """roundDecimal(value[, scale])."""
    return Expr(
        f"round({as_double(args[0])}, CAST({as_long(args[1]) if len(args) > 1 else 0} AS INTEGER))", "DOUBLE", ""
    )


FUNCTIONS: Final[dict[str, Function]] = {
    "plus": Function(2, 2, _binary("+")),
    "add": Function(2, 2, _binary("+")),
    "minus": Function(2, 2, _binary("-")),
    "sub": Function(2, 2, _binary("-")),
    "times": Function(2, 2, _binary("*")),
    "mult": Function(2, 2, _binary("*")),
    "divide": Function(2, 2, _binary("/")),
    "div": Function(2, 2, _binary("/")),
    "mod": Function(2, 2, _binary("%")),
    "abs": Function(1, 1, _doubles("abs({})")),
    "ceil": Function(1, 1, _doubles("ceil({})")),
    "ceiling": Function(1, 1, _doubles("ceil({})")),
    "floor": Function(1, 1, _doubles("floor({})")),
    "round": Function(1, 2, _round),
    "sqrt": Function(1, 1, _doubles("sqrt({})")),
    "rounddecimal": Function(1, 2, _round_decimal),
    "truncate": Function(1, 1, _doubles("trunc({})")),
    "exp": Function(1, 1, _doubles("exp({})")),
    "ln": Function(1, 1, _doubles("ln({})")),
    "log": Function(1, 1, _doubles("ln({})")),
    "log2": Function(1, 1, _doubles("log2({})")),
    "log10": Function(1, 1, _doubles("log10({})")),
    "power": Function(2, 2, _doubles("pow({}, {})")),
    "pow": Function(2, 2, _doubles("pow({}, {})")),
    "sign": Function(1, 1, _doubles("CAST(sign({}) AS DOUBLE)")),
    "least": Function(1, 64, partial(_extreme, "least")),
    "greatest": Function(1, 64, partial(_extreme, "greatest")),
    "lower": Function(1, 1, _texts("lower({})")),
    "upper": Function(1, 1, _texts("upper({})")),
    "length": Function(1, 1, _texts("CAST(length({}) AS INTEGER)", "INT")),
    "strlen": Function(1, 1, _texts("CAST(length({}) AS INTEGER)", "INT")),
    "trim": Function(1, 1, _texts("trim({})")),
    "ltrim": Function(1, 1, _texts("ltrim({})")),
    "rtrim": Function(1, 1, _texts("rtrim({})")),
    "reverse": Function(1, 1, _texts("reverse({})")),
    "replace": Function(3, 3, _texts("replace({}, {}, {})")),
    "startswith": Function(2, 2, _texts("starts_with({}, {})", "BOOLEAN")),
    "endswith": Function(2, 2, _texts("ends_with({}, {})", "BOOLEAN")),
    "contains": Function(2, 2, _texts("contains({}, {})", "BOOLEAN")),
    "strpos": Function(2, 2, _texts("CAST(strpos({}, {}) - 1 AS INTEGER)", "INT")),
    "substr": Function(2, 3, _substr),
    "substring": Function(2, 3, _substring),
    "concat": Function(2, 3, _concat),
    "regexplike": Function(2, 3, _regexp),
    "jsonextractscalar": Function(3, 4, _json_scalar),
    "arraylength": Function(1, 1, _array("len", "INT")),
    "cardinality": Function(1, 1, _array("len", "INT")),
    "arraysum": Function(1, 1, _array("list_sum", None)),
    "arrayaverage": Function(1, 1, _array("list_avg", None)),
    "arraymin": Function(1, 1, partial(_array_extreme, "list_min")),
    "arraymax": Function(1, 1, partial(_array_extreme, "list_max")),
    "datetrunc": Function(2, 5, _timed(times.date_trunc, "LONG")),
    "datetimeconvert": Function(4, 4, times.date_time_convert),
    "timeconvert": Function(3, 3, _timed(times.time_convert, "LONG")),
    "todatetime": Function(2, 3, _timed(times.to_date_time, "STRING")),
    "fromdatetime": Function(2, 3, _timed(times.from_date_time, "LONG")),
    "totimestamp": Function(1, 1, lambda a: Expr(convert(a[0], "TIMESTAMP"), "TIMESTAMP", "")),
    "fromtimestamp": Function(1, 1, lambda a: Expr(as_long(a[0]), "LONG", "")),
    **_date_functions(),
}
