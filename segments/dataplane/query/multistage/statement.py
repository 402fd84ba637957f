"""Reads a query of several stages: its form and its tables are checked here, its expressions when it is compiled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from sqlglot import exp
from sqlglot.errors import SqlglotError

from segments.dataplane.query.sql.explaining import explained
from segments.dataplane.query.sql.parse import NeedsStages, parse_select
from segments.dataplane.query.sql.tokens import read_tokens
from segments.expressions.query_errors import SQL_PARSING, QueryRejected
from segments.expressions.sql import PinotSql
from segments.expressions.syntax_errors import unparsable
from segments.names import split_table_name

#: Mentions of tables in one query; each table is read once. And those of parts of WITH as well: DuckDB's planning of a
#: join of very many cannot be interrupted.
MAX_TABLES: Final = 16
MAX_MENTIONS: Final = 64
_CACHED: Final = 64


class _StagesSql(PinotSql):
    """As Pinot's multi-stage engine: null sorts as if it were greater than every value."""

    NULL_ORDERING = "nulls_are_large"


@dataclass(frozen=True)
class StagesStatement:
    """``tables``: how often each table is read, by its name without quotes and database; ``parts``: the names that WITH
    gives, in lower case. The tree is shared and must not be changed.
    """

    tree: exp.Select | exp.SetOperation
    tables: Mapping[str, int]
    parts: frozenset[str]
    options: dict[str, str]


def stages_of(sql: str) -> StagesStatement | None:
    """A query of several stages; None for a plain query of one table. Raises QueryRejected for what is neither."""
    try:
        parse_select(sql)
    except NeedsStages:
        return _parse(sql)
    return None


def tables_read(sql: str) -> list[str]:
    """The name of every table that a query reads or that its plan is wanted of, of one stage or several. Raises
    QueryRejected.
    """
    sql = explained(sql) or sql
    statement = stages_of(sql)
    return [parse_select(sql).table] if statement is None else sorted(statement.tables)


@lru_cache(maxsize=_CACHED)
def _parse(sql: str) -> StagesStatement:
    query = read_tokens(sql)
    try:
        trees = [t for t in _StagesSql().parser().parse(query.tokens, query.text) if t is not None]
        if len(trees) != 1 or not isinstance(trees[0], (exp.Select, exp.SetOperation)):
            raise QueryRejected("The text is not a single SELECT.", error_code=SQL_PARSING)
        parts = _parts(trees[0])
        return StagesStatement(trees[0], _tables(trees[0], parts), parts, query.options)
    except SqlglotError as error:
        raise unparsable(error) from error
    except RecursionError as error:
        raise QueryRejected("The query is nested too deeply.", error_code=SQL_PARSING) from error


def _parts(tree: exp.Select | exp.SetOperation) -> frozenset[str]:
    names = [str(part.alias).lower() for part in tree.find_all(exp.CTE)]
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise QueryRejected(f"WITH gives the name '{twice[0][:80]}' twice.", error_code=SQL_PARSING)
    return frozenset(names)


def _tables(tree: exp.Select | exp.SetOperation, parts: frozenset[str]) -> Mapping[str, int]:
    """A name that WITH gives is never a table, wherever it stands, so that the tables are the same for everyone who
    asks.
    """
    found: Counter[str] = Counter()
    mentions = list(tree.find_all(exp.Table))
    if len(mentions) > MAX_MENTIONS:
        raise QueryRejected(
            f"The query names tables and parts of WITH more than {MAX_MENTIONS} times.",
            error_code=SQL_PARSING,
            remedy="Split it into several.",
        )
    for table in mentions:
        name = name_of(table)
        if name.lower() not in parts:
            found[name] += 1
    if sum(found.values()) > MAX_TABLES:
        raise QueryRejected(
            f"The query names more than {MAX_TABLES} tables.", error_code=SQL_PARSING, remedy="Split it into several."
        )
    if not found:
        raise QueryRejected("The query names no table.", error_code=SQL_PARSING)
    whole = {name for name in found if split_table_name(name)[1] is None}
    for name in found:
        raw, kind = split_table_name(name)
        if kind is not None and raw in whole:
            raise QueryRejected(
                f"The query reads '{raw}' as a whole and as '{name}'.",
                error_code=SQL_PARSING,
                remedy="Use one of the two names; WITH can give their rows a name.",
            )
    return dict(found)


def name_of(table: exp.Table) -> str:
    """Without its database. Raises QueryRejected for what is not a name: a function, a list of values."""
    if not isinstance(table.this, exp.Identifier):
        raise QueryRejected("FROM takes names of tables and subqueries, no functions.", error_code=SQL_PARSING)
    name = str(table.this.this).rpartition(".")[2]
    if not name:
        raise QueryRejected("The table's name is empty.", error_code=SQL_PARSING)
    return name
