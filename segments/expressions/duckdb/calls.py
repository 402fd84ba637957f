"""A call of a function in a query, by its name in the table of functions."""

from __future__ import annotations

from collections.abc import Sequence

from segments.expressions.duckdb.compiled import Expr
from segments.expressions.function import canonical, takes
from segments.expressions.functions import FUNCTIONS
from segments.expressions.query_errors import QueryRejected


def call(name: str, args: Sequence[Expr], now: int) -> Expr:
    """A call of an allowed function; ``now`` is the query's moment in milliseconds. Raises QueryRejected that names an
    unknown function or a wrong number of arguments.
    """
    key = canonical(name)
    function = FUNCTIONS.get(key)
    build = function.duckdb if function else None
    if function is None or build is None:
        known = sorted(n for n, f in FUNCTIONS.items() if f.duckdb is not None)
        raise QueryRejected(f"Function '{name}' is not supported.", remedy=f"Supported are {', '.join(known)}.")
    if wanted := takes(function.takes, len(args)):
        raise QueryRejected(f"{key}() takes {wanted} arguments, not {len(args)}.")
    made = build(args, now) if function.reads_clock else build(args)
    return made.named(f"{key}({','.join(a.name for a in args)})")
