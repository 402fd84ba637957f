"""Turn query text into one checked SELECT statement; everything that is not a single-table SELECT is refused by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import sqlglot
from sqlglot import exp, parser, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from segments.dataplane.query.rejected import SQL_PARSING, QueryRejected

MAX_SQL_LENGTH: Final = 1_000_000
#: Longer texts are not kept: generated lists of constants seldom come twice.
_CACHED_LENGTH: Final = 4_096
_SET = re.compile(r"\s*SET\s+\"?([\w.]+)\"?\s*=\s*('[^']*'|[\w.+-]+)\s*(?:;|\Z)", re.IGNORECASE)
_OPTION = re.compile(r"\bOPTION\s*\(([^()']*)\)\s*;?\s*\Z", re.IGNORECASE)
_FIRST_WORD = re.compile(r"\s*(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*([A-Za-z]+)", re.DOTALL)
_REMEDY: Final = "Ask for one table with SELECT ... FROM ... WHERE ... GROUP BY ... HAVING ... ORDER BY ... LIMIT."
#: Parts of a SELECT that are known and not supported, under the name a person calls them.
_UNSUPPORTED: Final[dict[str, str]] = {
    "with_": "WITH (common table expressions)", "joins": "JOIN", "laterals": "LATERAL", "pivots": "PIVOT", "windows": "WINDOW",
    "qualify": "QUALIFY", "into": "SELECT INTO", "locks": "FOR UPDATE", "sample": "TABLESAMPLE", "connect": "CONNECT BY",
    "match": "MATCH_RECOGNIZE", "cluster": "CLUSTER BY", "distribute": "DISTRIBUTE BY", "sort": "SORT BY",
    "prewhere": "PREWHERE", "exclude": "EXCLUDE", "kind": "SELECT AS", "settings": "SETTINGS", "format": "FORMAT",
}  # fmt: skip
_SUPPORTED: Final = frozenset({"expressions", "distinct", "from_", "where", "group", "having", "order", "limit", "offset"})


class PinotSql(Dialect):
    """Pinot's reading of SQL: double quotes and backticks are identifiers, functions stay as written."""

    class Tokenizer(tokens.Tokenizer):
        """Quotes of Pinot; ``$`` may begin the name of a virtual column."""

        IDENTIFIERS = ['"', "`"]
        QUOTES = ["'"]
        VAR_SINGLE_TOKENS = {"$"}

    class Parser(parser.Parser):
        """Knows no function by name, so the allow list is the only place that decides about functions."""

        FUNCTIONS = {}
        NO_PAREN_FUNCTIONS = {}
        FUNCTION_PARSERS = {k: v for k, v in parser.Parser.FUNCTION_PARSERS.items() if k in ("CAST", "EXTRACT")}


@dataclass(frozen=True)
class Statement:
    """A checked single-table SELECT: ``table`` without quotes and database prefix; ``options`` from SET and OPTION."""

    select: exp.Select
    table: str
    alias: str
    options: dict[str, str]


def table_of(sql: str) -> str:
    """The table of a query. Raises QueryRejected when the text is no single-table SELECT."""
    return parse_select(sql).table


def parse_select(sql: str) -> Statement:
    """Parse and check the form of a query; the tree is shared between callers and must not be changed. Raises QueryRejected."""
    return _parse_cached(sql) if len(sql) <= _CACHED_LENGTH else _parse(sql)


def _parse(sql: str) -> Statement:
    if len(sql) > MAX_SQL_LENGTH:
        raise QueryRejected(f"The query has {len(sql)} characters, more than {MAX_SQL_LENGTH}.", error_code=SQL_PARSING)
    body, options = _strip_options(sql)
    word = _FIRST_WORD.match(body)
    if word is None or word[1].upper() not in ("SELECT", "WITH"):
        what = word[1].upper() if word else "An empty query"
        raise QueryRejected(f"{what} is not supported.", error_code=SQL_PARSING, remedy=_REMEDY)
    select = _parse_one(body)
    _check_parts(select)
    table, alias = _table(select)
    return Statement(select, table, alias, options)


_parse_cached: Final = lru_cache(maxsize=256)(_parse)


def _strip_options(sql: str) -> tuple[str, dict[str, str]]:
    options: dict[str, str] = {}
    while found := _SET.match(sql):
        options[found[1]] = found[2].strip("'")
        sql = sql[found.end() :]
    while found := _OPTION.search(sql):
        for pair in found[1].split(","):
            key, equals, value = pair.partition("=")
            if not equals:
                raise QueryRejected(f"OPTION({found[1]}) is malformed.", error_code=SQL_PARSING, remedy="Write OPTION(key=value, ...).")
            options.setdefault(key.strip(), value.strip())
        sql = sql[: found.start()]
    return sql, options


def _parse_one(body: str) -> exp.Select:
    try:
        found = [s for s in sqlglot.parse(body, read=PinotSql) if s is not None]
    except SqlglotError as error:
        text = re.sub(r"\x1b\[\d+m", "", str(error)).split("\n")[0]
        raise QueryRejected(f"The SQL can not be parsed: {text}", error_code=SQL_PARSING, remedy=_REMEDY) from error
    except RecursionError as error:
        raise QueryRejected("The query is nested too deeply.", error_code=SQL_PARSING) from error
    if len(found) != 1:
        raise QueryRejected(f"The text holds {len(found)} statements.", error_code=SQL_PARSING, remedy="Send one SELECT at a time.")
    tree = found[0]
    if isinstance(tree, exp.SetOperation):
        raise QueryRejected(f"{type(tree).__name__.upper()} is not supported.", error_code=SQL_PARSING, remedy=_REMEDY)
    if not isinstance(tree, exp.Select):
        raise QueryRejected(f"{tree.key.upper()} is not supported.", error_code=SQL_PARSING, remedy=_REMEDY)
    return tree


def _check_parts(select: exp.Select) -> None:
    for part, value in select.args.items():
        if value and part not in _SUPPORTED:
            name = _UNSUPPORTED.get(part, part.strip("_").upper())
            raise QueryRejected(f"{name} is not supported.", error_code=SQL_PARSING, remedy=_REMEDY)
    if any(node is not select for node in select.find_all(exp.Query)):
        raise QueryRejected("Subqueries are not supported.", error_code=SQL_PARSING, remedy=_REMEDY)
    if select.find(exp.Window):
        raise QueryRejected("Window functions (OVER) are not supported.", error_code=SQL_PARSING, remedy=_REMEDY)
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
            raise QueryRejected(f"{part.strip('_').upper()} is not supported after a table's name.", error_code=SQL_PARSING)
    name = str(table.this.this).rpartition(".")[2]
    if not name:
        raise QueryRejected("The table's name is empty.", error_code=SQL_PARSING)
    return name, str(table.alias or name)
