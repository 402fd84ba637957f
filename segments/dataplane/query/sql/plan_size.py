"""How large a plan may grow: a short text can mean a huge one, because aliases, CASE operands and arguments are written
out repeatedly.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlglot import exp

from segments.expressions.duckdb.compiled import Expr
from segments.expressions.query_errors import SQL_PARSING, QueryRejected

#: Expressions compiled for one query. As many take about a second.
MAX_EXPRESSIONS: Final = 60_000
#: Characters of DuckDB text and of names, of one expression and of all together. The first is four times the longest
#: query text.
MAX_CHARACTERS: Final = 4_000_000
MAX_CHARACTERS_OF_ALL: Final = 32_000_000
#: Brackets in the DuckDB text of a query, which stand for its calls and operators. DuckDB plans as many in about two
#: seconds.
MAX_BRACKETS: Final = 30_000


class PlanSize:
    """Counts what the compilation of one query makes."""

    def __init__(self) -> None:
        self._expressions = 0
        self._characters = 0

    @property
    def characters(self) -> int:
        """Those of the DuckDB text and of the names that were made so far."""
        return self._characters

    def add(self, made: Expr) -> Expr:
        """Count an expression and return it. Raises QueryRejected when there is too much."""
        characters = len(made.sql) + len(made.name)
        self._characters += characters
        if characters > MAX_CHARACTERS or self._characters > MAX_CHARACTERS_OF_ALL:
            raise _too_large(f"{MAX_CHARACTERS} characters")
        self.count(1)
        check_written((made.sql,))
        return made

    def count(self, expressions: int) -> None:
        """Count expressions that will be made. Raises QueryRejected when there are too many."""
        self._expressions += expressions
        if self._expressions > MAX_EXPRESSIONS:
            raise _too_large(f"{MAX_EXPRESSIONS} expressions")

    def repeat(self, node: exp.Expression, times: int) -> None:
        """Count a part of the query that will be written out so many times. Raises QueryRejected when that makes too
        many.
        """
        self.count(sum(1 for _ in node.walk()) * times)


def check_written(texts: Iterable[str]) -> None:
    """Raises QueryRejected when the parts of a query's DuckDB text are more together than it plans in
    reasonable time.
    """
    if sum(text.count("(") for text in texts) > MAX_BRACKETS:
        raise _too_large(f"{MAX_BRACKETS} calls and operators")


def _too_large(what: str) -> QueryRejected:
    return QueryRejected(
        f"The query becomes too large when aliases and repeated arguments are written out: more than {what}.",
        error_code=SQL_PARSING,
        remedy="Split it into several queries, or nest its functions less.",
    )
