"""What is wrong with a text that is no SQL, in words of SQL: the parser speaks of its own classes."""

from __future__ import annotations

import re
from typing import Final

from sqlglot.errors import ParseError, SqlglotError

from segments.expressions.query_errors import SQL_PARSING, QueryRejected

_OPEN: Final = re.compile(r"Missing (\S+) from ")
_MISSING: Final = re.compile(r"Required keyword: '\w+' missing for ")
_EXPECTED: Final = re.compile(r"Expect(?:ing|ed) ([A-Za-z() ]+?)(?: but got .*)?\Z", re.DOTALL)
_LONGEST: Final = 80


def unparsable(error: SqlglotError, *, remedy: str = "") -> QueryRejected:
    """The refusal of a query that the parser does not take."""
    text = f"The SQL cannot be parsed: {syntax_error_text(error)}."
    return QueryRejected(text, error_code=SQL_PARSING, remedy=remedy)


def syntax_error_text(error: SqlglotError) -> str:
    """One sentence without its full stop, with the place where that is known."""
    if not isinstance(error, ParseError) or not error.errors:
        found = _OPEN.match(str(error.__cause__ or ""))
        what = f"What begins with {found[1]}" if found else "A text, a quoted name or a comment"
        return f"{what} is not closed"
    first = error.errors[0]
    said, at = str(first.get("description") or ""), str(first.get("highlight") or "")[:_LONGEST]
    place = f"line {first.get('line')}, column {first.get('col')}"
    if _MISSING.match(said):
        return f"something is missing after '{at}' ({place})"
    if expected := _EXPECTED.match(said):
        return f"{expected[1]} is expected at '{at}' ({place})"
    return f"'{at}' is not expected here ({place})"
