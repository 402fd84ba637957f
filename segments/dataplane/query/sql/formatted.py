"""A query's text with line breaks and indents, its meaning kept: what is written is read again and compared."""

from __future__ import annotations

from typing import Any, Final

from sqlglot import exp
from sqlglot.errors import SqlglotError

from segments.dataplane.query.sql.tokens import read_tokens
from segments.expressions.query_errors import SQL_PARSING, QueryRejected
from segments.expressions.sql import PinotSql
from segments.expressions.syntax_errors import unparsable

#: Characters and words of a text that is formatted: two readings and one writing take less than half a second.
MAX_CHARACTERS: Final = 50_000
MAX_WORDS: Final = 10_000


def formatted_sql(sql: str) -> str:
    """SET before and OPTION after the statement stay as they are. Raises QueryRejected for what is not a single
    statement, is too long, or would not be the same.
    """
    if len(sql) > MAX_CHARACTERS:
        raise QueryRejected(f"Only texts of up to {MAX_CHARACTERS} characters are formatted.")
    query = read_tokens(sql)
    if not query.tokens or len(query.tokens) > MAX_WORDS:
        raise QueryRejected(f"Only statements of up to {MAX_WORDS} words are formatted.")
    begin, end = query.tokens[0].start, query.tokens[-1].end + 1
    try:
        tree = _tree(sql[begin:end])
        text = tree.sql(dialect=PinotSql, pretty=True, normalize_functions=False)
        if _tree(text) != tree:
            raise QueryRejected("The text cannot be formatted without a change of its meaning.")
    except SqlglotError as error:
        raise unparsable(error) from error
    except RecursionError as error:
        raise QueryRejected("The query is nested too deeply.", error_code=SQL_PARSING) from error
    head, tail = sql[:begin].strip(), sql[end:].strip()
    return "\n".join(part for part in (head, text, tail) if part)


def _tree(text: str) -> Any:
    trees = [t for t in PinotSql().parser().parse(read_tokens(text).tokens, text) if t is not None]
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise QueryRejected("Only one SELECT can be formatted.", error_code=SQL_PARSING)
    return trees[0]
