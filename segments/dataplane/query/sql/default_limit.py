"""Whether an answer was cut by the LIMIT that a query without one gets, as in Pinot."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import SqlglotError

from segments.dataplane.query.plan import DEFAULT_LIMIT
from segments.dataplane.query.sql.parse import NeedsStages, parse_select
from segments.dataplane.query.sql.tokens import read_tokens
from segments.expressions.query_errors import QueryRejected
from segments.expressions.sql import PinotSql


def may_be_cut(sql: str, rows: int) -> bool:
    """Has the text no LIMIT of its own, and the answer just as many rows as are given then? False for a text that
    cannot be read.
    """
    if rows != DEFAULT_LIMIT:
        return False
    try:
        parse_select(sql)
    except NeedsStages:
        return False  # these get no LIMIT
    except QueryRejected:
        pass  # a real Pinot may have understood it
    try:
        query = read_tokens(sql)
        trees = [tree for tree in PinotSql().parser().parse(query.tokens, query.text) if tree is not None]
    except (SqlglotError, RecursionError, QueryRejected):
        return False
    return bool(trees) and isinstance(trees[-1], exp.Query) and trees[-1].args.get("limit") is None
