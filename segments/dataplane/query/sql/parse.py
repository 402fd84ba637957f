"""Turn query text into one checked SELECT statement; everything that is not a single-table SELECT is
refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from segments.dataplane.query.sql.text_growth import check_growth
from segments.dataplane.query.sql.tokens import QueryText, read_tokens
from segments.expressions.query_errors import SQL_PARSING, QueryRejected
from segments.expressions.sql import PinotSql
from segments.expressions.syntax_errors import unparsable

#: Longer texts are kept only while one query is answered, which asks for its statement several times.
_CACHED_LENGTH: Final = 4_096
_REMEDY: Final = "Write SELECT ... FROM ... WHERE ... GROUP BY ... HAVING ... ORDER BY ... LIMIT."
#: Parts of a SELECT that are known and not supported, under the name a person calls them.
_UNSUPPORTED: Final[dict[str, str]] = {
    "with_": "WITH (common table expressions)",
    "joins": "JOIN",
    "laterals": "LATERAL",
    "pivots": "PIVOT",
    "windows": "WINDOW",
    "qualify": "QUALIFY",
    "into": "SELECT INTO",
    "locks": "FOR UPDATE",
    "sample": "TABLESAMPLE",
    "connect": "CONNECT BY",
    "match": "MATCH_RECOGNIZE",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "sort": "SORT BY",
    "prewhere": "PREWHERE",
    "exclude": "EXCLUDE",
    "kind": "SELECT AS",
    "settings": "SETTINGS",
    "format": "FORMAT",
}
_SUPPORTED: Final = frozenset(
    {"expressions", "distinct", "from_", "where", "group", "having", "order", "limit", "offset"}
)


class NeedsStages(QueryRejected):
    """Joins, subqueries, WITH, unions, windows: one pass over one table does not answer it, ``multistage`` does."""


#: Parts of a SELECT that only queries of several stages have.
_OF_STAGES: Final = frozenset({"with_", "joins"})


@dataclass(frozen=True)
class Statement:
    """A checked single-table SELECT: ``table`` without quotes and database prefix; ``options`` from SET and OPTION."""

    select: exp.Select
    table: str
    alias: str
    options: dict[str, str]


def table_of(sql: str) -> str:
    """The table of a query. Raises QueryRejected when the text is not a single-table SELECT."""
    return parse_select(sql).table


def parse_select(sql: str) -> Statement:
    """Parse and check the form of a query; the tree is shared between callers and must not be changed. Raises
    QueryRejected.
    """
    return _parse_cached(sql) if len(sql) <= _CACHED_LENGTH else _parse_long(sql)


def _parse(sql: str) -> Statement:
    query = read_tokens(sql)
    first = query.tokens[0] if query.tokens else None
    if first is None or first.token_type not in (TokenType.SELECT, TokenType.WITH):
        what = first.text.upper()[:40] if first else "An empty query"
        raise QueryRejected(f"{what} is not supported.", error_code=SQL_PARSING, remedy=_REMEDY)
    select = _parse_one(query)
    _check_parts(select)
    try:
        check_growth(select)
    except RecursionError as error:
        raise QueryRejected("The query is nested too deeply.", error_code=SQL_PARSING) from error
    table, alias = _table(select)
    return Statement(select, table, alias, query.options)


_parse_cached: Final = lru_cache(maxsize=256)(_parse)
_parse_long: Final = lru_cache(maxsize=4)(_parse)


def _parse_one(query: QueryText) -> exp.Select:
    try:
        found = [s for s in PinotSql().parser().parse(query.tokens, query.text) if s is not None]
    except SqlglotError as error:
        raise unparsable(error, remedy=_REMEDY) from error
    except RecursionError as error:
        raise QueryRejected("The query is nested too deeply.", error_code=SQL_PARSING) from error
    if len(found) != 1:
        raise QueryRejected(
            f"The text holds {len(found)} statements.", error_code=SQL_PARSING, remedy="Send one SELECT at a time."
        )
    tree = found[0]
    if isinstance(tree, exp.SetOperation):
        raise NeedsStages(f"{type(tree).__name__.upper()} is not supported.", error_code=SQL_PARSING, remedy=_REMEDY)
    if not isinstance(tree, exp.Select):
        raise QueryRejected(f"{tree.key.upper()} is not supported.", error_code=SQL_PARSING, remedy=_REMEDY)
    return tree


def _check_parts(select: exp.Select) -> None:
    for part, value in select.args.items():
        if value and part not in _SUPPORTED:
            name = _UNSUPPORTED.get(part, part.strip("_").upper())
            refusal = NeedsStages if part in _OF_STAGES else QueryRejected
            raise refusal(f"{name} is not supported.", error_code=SQL_PARSING, remedy=_REMEDY)
    if any(node is not select for node in select.find_all(exp.Query)):
        raise NeedsStages("Subqueries are not supported.", error_code=SQL_PARSING, remedy=_REMEDY)
    if select.find(exp.Window):
        raise NeedsStages("Window functions (OVER) are not supported.", error_code=SQL_PARSING, remedy=_REMEDY)
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on") is not None:
        raise QueryRejected("DISTINCT ON is not supported.", error_code=SQL_PARSING)


def _table(select: exp.Select) -> tuple[str, str]:
    from_ = select.args.get("from_")
    if from_ is None:
        raise QueryRejected("The query names no table.", error_code=SQL_PARSING, remedy=_REMEDY)
    table = from_.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise QueryRejected("FROM takes the name of one table.", error_code=SQL_PARSING, remedy=_REMEDY)
    for part, value in table.args.items():
        if value and part not in ("this", "db", "alias"):
            raise QueryRejected(
                f"{part.strip('_').upper()} is not supported after a table's name.", error_code=SQL_PARSING
            )
    name = str(table.this.this).rpartition(".")[2]
    if not name:
        raise QueryRejected("The table's name is empty.", error_code=SQL_PARSING)
    return name, str(table.alias or name)
