"""Aggregation functions, each split into parts the servers compute and a final value the broker makes of the merged
parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from segments.expressions.duckdb.compiled import NUMERIC, Expr, as_double, coerce
from segments.expressions.function import canonical
from segments.expressions.query_errors import QueryRejected

Merge = Literal["sum", "min", "max", "distinct", "values"]
_PERCENTILE = re.compile(r"(percentile(?:est|tdigest|kll)?)(\d{1,2}|100)?(mv)?\Z")
_INFINITY: Final = "CAST('inf' AS DOUBLE)"
_MINUS_INFINITY: Final = "CAST('-inf' AS DOUBLE)"


@dataclass(frozen=True)
class Part:
    """One value a server computes per group: DuckDB text, how two of them merge, and the plain form of it if it is that
    simple.

    ``plain`` is (Arrow aggregation, expression) for count, sum, min and max of one number without FILTER.
    """

    sql: str
    merge: Merge
    plain: tuple[str, Expr | None] | None = None

    def filtered(self, predicate: str) -> Part:
        """The part over the rows that satisfy FILTER (WHERE ...)."""
        return Part(f"{self.sql} FILTER (WHERE {predicate})", self.merge)


@dataclass(frozen=True)
class Aggregation:
    """``parts`` and ``final``: DuckDB text with {0}, {1}... for the merged parts.

    ``simple`` says the same for the path without DuckDB: the default of the single part, or None for an average of two.
    """

    type: str
    name: str
    parts: tuple[Part, ...]
    final: str
    simple: tuple[float | int | None] | None = None


def is_aggregation(name: str) -> bool:
    """Whether a function of this name aggregates rows."""
    key = canonical(name)
    return key in _BUILDERS or _PERCENTILE.match(key) is not None


def aggregation(name: str, args: Sequence[Expr], *, distinct: bool, star: bool) -> Aggregation:
    """One aggregation over compiled arguments. Raises QueryRejected naming the function and what is wrong with its
    arguments.
    """
    key = canonical(name)
    if distinct:
        if key not in _WITH_DISTINCT or len(args) != 1:
            raise QueryRejected(f"{key}(DISTINCT ...) is supported for COUNT, SUM and AVG of one column.")
        key = _WITH_DISTINCT[key]
    if star and key != "count":
        raise QueryRejected(f"{key}(*) is not supported.", remedy="Name a column.")
    if key == "count" and (star or len(args) == 1):
        return _count()
    if found := _PERCENTILE.match(key):
        return _percentile(found, args)
    if key == "mode":
        return _mode(args)
    if len(args) != 1 or key not in _BUILDERS:
        raise QueryRejected(f"{key}() takes one argument, not {len(args)}.")
    if key.endswith("mv") and not args[0].mv:
        raise QueryRejected(f"{key}() takes a multi-value column, but '{args[0].name}' is single-valued.")
    return _BUILDERS[key](key, args[0])


def _count() -> Aggregation:
    return Aggregation("LONG", "count(*)", (Part("count(*)", "sum", ("count", None)),), "coalesce({0}, 0)", (0,))


def _count_mv(key: str, arg: Expr) -> Aggregation:
    part = Part(f"CAST(sum(len({arg.sql})) AS BIGINT)", "sum")
    if not arg.mv:
        return _count()
    return Aggregation("LONG", f"{key}({arg.name})", (part,), "coalesce({0}, 0)", (0,))


def _number_part(function: Literal["sum", "min", "max"], arg: Expr) -> Part:
    """sum, min or max of a number or of all values of a multi-value column, as DOUBLE."""
    if not arg.mv:
        plain = (function, arg) if arg.type in NUMERIC | {"TIMESTAMP"} else None
        return Part(f"{function}({as_double(arg)})", function, plain)
    if arg.type not in NUMERIC:
        raise QueryRejected(f"'{arg.name}' of type {arg.result_type} is not a number.")
    return Part(f"{function}(CAST(list_{function}({arg.sql}) AS DOUBLE))", function)


def _sum(key: str, arg: Expr) -> Aggregation:
    return Aggregation(
        "DOUBLE", f"{key}({arg.name})", (_number_part("sum", arg),), "coalesce({0}, CAST(0 AS DOUBLE))", (0.0,)
    )


def _min(key: str, arg: Expr) -> Aggregation:
    return Aggregation(
        "DOUBLE", f"{key}({arg.name})", (_number_part("min", arg),), f"coalesce({{0}}, {_INFINITY})", (float("inf"),)
    )


def _max(key: str, arg: Expr) -> Aggregation:
    return Aggregation(
        "DOUBLE",
        f"{key}({arg.name})",
        (_number_part("max", arg),),
        f"coalesce({{0}}, {_MINUS_INFINITY})",
        (float("-inf"),),
    )


def _avg(key: str, arg: Expr) -> Aggregation:
    parts = (_number_part("sum", arg), (_count_mv(key, arg) if arg.mv else _count()).parts[0])
    final = f"CASE WHEN {{1}} > 0 THEN {{0}} / {{1}} ELSE {_MINUS_INFINITY} END"
    return Aggregation("DOUBLE", f"{key}({arg.name})", parts, final, (None,))


def _range(key: str, arg: Expr) -> Aggregation:
    parts = (_number_part("max", arg), _number_part("min", arg))
    return Aggregation("DOUBLE", f"{key}({arg.name})", parts, f"coalesce({{0}} - {{1}}, {_MINUS_INFINITY})")


def _distinct_part(arg: Expr) -> Part:
    return Part(f"list_distinct(flatten(list({arg.sql})))" if arg.mv else f"list(DISTINCT {arg.sql})", "distinct")


def _distinct(key: str, arg: Expr) -> Aggregation:
    kind = "LONG" if "hll" in key else "INT"
    final = f"CAST(coalesce(len({{0}}), 0) AS {'BIGINT' if kind == 'LONG' else 'INTEGER'})"
    return Aggregation(kind, f"{key}({arg.name})", (_distinct_part(arg),), final)


def _distinct_number(key: str, arg: Expr) -> Aggregation:
    if arg.type not in NUMERIC:
        raise QueryRejected(f"'{arg.name}' of type {arg.result_type} is not a number.")
    function, empty = ("list_sum", "CAST(0 AS DOUBLE)") if "sum" in key else ("list_avg", _MINUS_INFINITY)
    return Aggregation(
        "DOUBLE", f"{key}({arg.name})", (_distinct_part(arg),), f"coalesce(CAST({function}({{0}}) AS DOUBLE), {empty})"
    )


def _values_part(arg: Expr) -> Part:
    if arg.mv:
        return Part(f"CAST(flatten(list({arg.sql})) AS DOUBLE[])", "values")
    return Part(f"list({as_double(arg)})", "values")


def _percentile(found: re.Match[str], args: Sequence[Expr]) -> Aggregation:
    """``percentile95(x)`` or ``percentile(x, 95)``: the exact value at that rank, which the approximate variants give
    too.
    """
    function, fixed, mv = found.groups(default="")
    if len(args) != (1 if fixed else 2):
        raise QueryRejected(f"{found[0]}() takes a column{'' if fixed else ' and a percentage'}.")
    wanted = float(fixed) if fixed else _percentage(args[1], found[0])
    if mv and not args[0].mv:
        raise QueryRejected(f"{found[0]}() takes a multi-value column, but '{args[0].name}' is single-valued.")
    rank = f"least(len({{0}}), CAST(floor(len({{0}}) * {wanted!r} / 100) AS BIGINT) + 1)"
    value = f"CASE WHEN len({{0}}) > 0 THEN list_extract(list_sort({{0}}), {rank}) ELSE {_MINUS_INFINITY} END"
    name = f"{found[0]}({args[0].name})" if fixed else f"{found[0]}({args[0].name}, {wanted!r})"
    if function == "percentileest":
        lowest = "CAST(-9223372036854775808 AS BIGINT)"
        value = f"CASE WHEN len({{0}}) > 0 THEN CAST(trunc({value}) AS BIGINT) ELSE {lowest} END"
        return Aggregation("LONG", name, (_values_part(args[0]),), value)
    return Aggregation("DOUBLE", name, (_values_part(args[0]),), value)


def _percentage(arg: Expr, function: str) -> float:
    wanted: Any = coerce(arg, "DOUBLE").value if arg.constant else None
    if not isinstance(wanted, int | float) or not 0 <= wanted <= 100:
        raise QueryRejected(f"The percentage of {function}() must be a constant from 0 to 100.")
    return float(wanted)


def _mode(args: Sequence[Expr]) -> Aggregation:
    """``mode(x[, 'MIN'|'MAX'])``: the most frequent value; of several the least or the greatest."""
    reducer = str(args[1].value).upper() if len(args) == 2 and args[1].constant else "MIN"
    if not 1 <= len(args) <= 2 or reducer not in ("MIN", "MAX"):
        raise QueryRejected("mode() takes a column and optionally 'MIN' or 'MAX'.")
    ordered = "list_sort({0})" if reducer == "MIN" else "list_reverse_sort({0})"
    final = f"CASE WHEN len({{0}}) > 0 THEN list_aggregate({ordered}, 'mode') ELSE {_MINUS_INFINITY} END"
    return Aggregation("DOUBLE", f"mode({args[0].name})", (_values_part(args[0]),), final)


_WITH_DISTINCT: Final = {"count": "distinctcount", "sum": "distinctsum", "avg": "distinctavg"}
_PLAIN: Final[dict[str, Callable[[str, Expr], Aggregation]]] = {
    "count": _count_mv,
    "sum": _sum,
    "min": _min,
    "max": _max,
    "avg": _avg,
    "minmaxrange": _range,
    "distinctcount": _distinct,
    "distinctcounthll": _distinct,
    "distinctcounthllplus": _distinct,
    "distinctcountbitmap": _distinct,
    "distinctsum": _distinct_number,
    "distinctavg": _distinct_number,
}
_BUILDERS: Final[dict[str, Callable[[str, Expr], Aggregation]]] = {
    **_PLAIN, **{f"{name}mv": build for name, build in _PLAIN.items()},
    "mode": lambda _key, arg: _mode([arg]),
}  # fmt: skip
#: Names of aggregations that people write; there are more spellings and those for multi-value columns.
AGGREGATIONS: Final = (
    *_PLAIN.keys() - {"distinctcount", "distinctcounthll", "distinctcounthllplus", "distinctcountbitmap"},
    "distinctCount", "distinctCountHLL", "distinctCountHLLPlus", "distinctCountBitmap", "mode", "percentile",
    "percentileEst", "percentileTDigest",
)  # fmt: skip
