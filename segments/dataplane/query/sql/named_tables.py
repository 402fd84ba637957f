"""Which tables a query reads, as its text names them, for clusters whose SQL knows more than ours: joins, subqueries,
unions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from sqlglot import exp
from sqlglot.errors import SqlglotError

from segments.dataplane.query.sql.tokens import read_tokens
from segments.expressions.query_errors import SQL_PARSING, QueryRejected
from segments.expressions.sql import PinotSql

#: Comments, options and escapes, which Pinot's parsers read in other ways than ours, old ones even within texts: what
#: is hidden from us there may not be hidden from them.
_READ_OTHERWISE: Final = re.compile(r"--|/\*|//|\{[#%{]|u&|option\s*+\(", re.IGNORECASE)
_DEFAULT_DATABASE: Final = "default"


@dataclass(frozen=True)
class NamedTables:
    """``tables`` with their database unless it is the default one; ``aliases``: names that the query itself gives
    (WITH).
    """

    tables: frozenset[str]
    aliases: frozenset[str]
    options: dict[str, str]


def named_tables(sql: str) -> NamedTables:
    """Raises QueryRejected for a text that may read tables it does not name."""
    if _READ_OTHERWISE.search(sql):
        raise _unsure("it holds a comment, OPTION(...) or an escape; write options with SET")
    query = read_tokens(sql)
    try:
        trees = [tree for tree in PinotSql().parser().parse(query.tokens, query.text) if tree is not None]
    except (SqlglotError, RecursionError) as error:
        raise _unsure("it cannot be parsed") from error
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise _unsure("it is not a single SELECT")
    _check_functions(trees[0])
    names = [_name(table) for table in trees[0].find_all(exp.Table)]
    aliases = frozenset(cte.alias_or_name for cte in trees[0].find_all(exp.CTE))
    return NamedTables(frozenset(names), aliases, query.options)


def _check_functions(tree: exp.Query) -> None:
    """Some functions of Pinot read a table that a text names."""
    for call in tree.find_all(exp.Anonymous, exp.Func):
        name = (call.name if isinstance(call, exp.Anonymous) else call.sql_name()).replace("_", "").lower()
        if name == "lookup" or "subquery" in name:
            raise _unsure(f"the function {name} may read another table")


def _name(table: exp.Table) -> str:
    if not isinstance(table.this, exp.Identifier):
        raise _unsure("a function stands where a table should")
    parts = [part.name for part in table.parts]
    if len(parts) > 1 and parts[0].lower() == _DEFAULT_DATABASE:
        parts = parts[1:]
    return ".".join(parts).removeprefix(f"{_DEFAULT_DATABASE}.")


def _unsure(why: str) -> QueryRejected:
    return QueryRejected(f"Which tables the query reads is not certain: {why}.", error_code=SQL_PARSING)
