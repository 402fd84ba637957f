"""Window functions: ``rank() OVER (PARTITION BY ... ORDER BY ... ROWS BETWEEN ... AND ...)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from sqlglot import exp

from segments.dataplane.query.aggregate import is_aggregation
from segments.dataplane.query.sql.compiler import check_parts
from segments.domain.formats.whole_number import whole_number
from segments.expressions.duckdb import functions
from segments.expressions.duckdb.compiled import DUCK_TYPES, Expr, as_double
from segments.expressions.function import canonical
from segments.expressions.query_errors import SQL_PARSING, QueryRejected

#: Aggregations that have a meaning for every row of a window.
_AGGREGATIONS: Final = frozenset({"count", "sum", "min", "max", "avg"})
_RANKS: Final = {
    "rownumber": ("row_number()", "LONG"), "rank": ("rank()", "LONG"), "denserank": ("dense_rank()", "LONG"),
    "percentrank": ("percent_rank()", "DOUBLE"), "cumedist": ("cume_dist()", "DOUBLE"),
}  # fmt: skip
_MOST: Final = 1_000_000


class _Compiles(Protocol):
    def compile(self, node: exp.Expression) -> Expr: ...
    def aggregate(self, node: exp.Expression, over: str = "") -> Expr: ...


def window(self: _Compiles, node: exp.Window) -> Expr:
    """A function OVER a window. Raises QueryRejected naming what is not supported."""
    if any(v for part, v in node.args.items() if part not in ("this", "partition_by", "order", "spec", "over")):
        raise QueryRejected(
            "Windows with a name are not supported.", error_code=SQL_PARSING, remedy="Write OVER (...) with its parts."
        )
    keys = [self.compile(key) for key in node.args.get("partition_by") or ()]
    order = node.args.get("order")
    items = [ordering(self.compile(item.this), item) for item in order.expressions] if order else []
    inside = [f"PARTITION BY {', '.join(k.sql for k in keys)}"] if keys else []
    inside += [f"ORDER BY {', '.join(items)}"] if items else []
    inside += [_frame(node.args["spec"])] if node.args.get("spec") else []
    return _function(self, node.this, f" OVER ({' '.join(inside)})", bool(items))


def ordering(found: Expr, item: exp.Expression, text: str | None = None) -> str:
    """An item of ORDER BY; null counts as the greatest unless NULLS FIRST or LAST says otherwise."""
    if not isinstance(item, exp.Ordered):
        raise QueryRejected(f"'{item.sql()[:80]}' cannot stand in ORDER BY.", error_code=SQL_PARSING)
    check_parts(item)
    if found.mv:
        raise QueryRejected(f"Multi-value column '{found.name}' cannot stand in ORDER BY.")
    sql = text or (as_double(found) if found.type == "BIG_DECIMAL" else typed(found))
    direction, place = "DESC" if item.args.get("desc") else "ASC", "FIRST" if item.args.get("nulls_first") else "LAST"
    return f"{sql} {direction} NULLS {place}"


def typed(found: Expr) -> str:
    """The expression where a bare number would be a position for DuckDB."""
    return f"CAST({found.sql} AS {DUCK_TYPES[found.type]})" if found.constant else f"({found.sql})"


def _function(self: _Compiles, node: exp.Expression, over: str, is_ordered: bool) -> Expr:
    call = node.this if isinstance(node, exp.Filter) else node
    if not isinstance(call, exp.Anonymous):
        raise QueryRejected(f"'{node.sql()[:80]}' OVER (...) is not supported.", error_code=SQL_PARSING)
    check_parts(call)
    name = canonical(str(call.this))
    label = f"{name}@{id(node)}"
    if name in _AGGREGATIONS and is_aggregation(name):
        if any(isinstance(a, exp.Distinct) for a in call.expressions):
            raise QueryRejected(f"{name}(DISTINCT ...) OVER (...) is not supported.")
        return self.aggregate(node, over).named(label)
    args = [self.compile(a) for a in call.expressions]
    build = _VALUES.get(name)
    if isinstance(node, exp.Filter) or not (name in _RANKS or build):
        known = sorted({*_AGGREGATIONS, *_RANKS, *_VALUES})
        raise QueryRejected(
            f"Function '{str(call.this)[:80]}' OVER (...) is not supported.",
            remedy=f"Supported are {', '.join(known)}.",
        )
    if not is_ordered and name not in ("rownumber", "firstvalue", "lastvalue"):
        raise QueryRejected(f"{name}() takes a window with ORDER BY.")
    if build is None:
        if args:
            raise QueryRejected(f"{name}() takes no arguments.")
        sql, kind = _RANKS[name]
        return Expr(f"{sql}{over}", kind, label)
    sql, kind, is_list = build(name, args)
    return Expr(f"{sql}{over}", kind, label, is_list)


def _neighbour(name: str, args: Sequence[Expr]) -> tuple[str, str, bool]:
    if not 1 <= len(args) <= 3:
        raise QueryRejected(f"{name}() takes a column, optionally a number of rows and a default.")
    shift = _whole(args[1], name) if len(args) > 1 else 1
    if len(args) < 3:
        return f"{name}({args[0].sql}, {shift})", args[0].type, args[0].mv
    kind = functions.common_type([args[0], args[2]], f"{name}()")
    return f"{name}({functions.convert(args[0], kind)}, {shift}, {functions.convert(args[2], kind)})", kind, False


def _end(name: str, args: Sequence[Expr]) -> tuple[str, str, bool]:
    if len(args) != 1:
        raise QueryRejected(f"{name}() takes one argument.")
    return f"{'first_value' if name == 'firstvalue' else 'last_value'}({args[0].sql})", args[0].type, args[0].mv


def _tiles(name: str, args: Sequence[Expr]) -> tuple[str, str, bool]:
    if len(args) != 1:
        raise QueryRejected("ntile() takes one argument.")
    return f"ntile({_whole(args[0], name, least=1)})", "LONG", False


def _whole(arg: Expr, name: str, least: int = 0) -> int:
    if not arg.constant or type(arg.value) is not int or not least <= arg.value <= _MOST:
        raise QueryRejected(f"{name}() takes a constant from {least} to {_MOST}.")
    return arg.value


def _frame(spec: exp.Expression) -> str:
    parts = spec.args
    kind = str(parts.get("kind") or "").upper()
    if not isinstance(spec, exp.WindowSpec) or kind not in ("ROWS", "RANGE") or parts.get("exclude"):
        raise QueryRejected(f"The window's frame '{spec.sql()[:80]}' is not supported.", error_code=SQL_PARSING)
    first = _bound(parts.get("start"), parts.get("start_side"), kind)
    last = _bound(parts["end"], parts.get("end_side"), kind) if parts.get("end") else "CURRENT ROW"
    return f"{kind} BETWEEN {first} AND {last}"


def _bound(value: object, side: object, kind: str) -> str:
    direction = str(side or "").upper()
    if value == "CURRENT ROW":
        return "CURRENT ROW"
    if direction in ("PRECEDING", "FOLLOWING"):
        if value == "UNBOUNDED":
            return f"UNBOUNDED {direction}"
        is_number = isinstance(value, exp.Literal) and not value.is_string
        rows = whole_number(str(value.this)) if is_number else None  # type: ignore[attr-defined]  # a literal
        if kind == "ROWS" and rows is not None and rows <= _MOST:
            return f"{rows} {direction}"
    raise QueryRejected(
        "The ends of a window's frame are not supported.",
        error_code=SQL_PARSING,
        remedy="Use UNBOUNDED, CURRENT ROW, or a number of ROWS.",
    )


_VALUES: Final[dict[str, Callable[[str, Sequence[Expr]], tuple[str, str, bool]]]] = {
    "lag": _neighbour, "lead": _neighbour, "firstvalue": _end, "lastvalue": _end, "ntile": _tiles,
}  # fmt: skip
