"""EXPLAIN PLAN FOR: the query whose plan is wanted, and the other way round."""

from __future__ import annotations

from typing import Final

from sqlglot.tokenizer_core import TokenType

from segments.dataplane.query.sql.tokens import read_tokens
from segments.expressions.query_errors import SQL_PARSING, QueryRejected

_HEAD: Final = ["EXPLAIN", "PLAN"]
#: Between PLAN and FOR, of Pinot's engine of several stages; what is explained here is the same.
_WITHOUT: Final = ["WITHOUT", "IMPLEMENTATION"]
_FOR: Final = "FOR"


def explained(sql: str) -> str | None:
    """The text without EXPLAIN PLAN FOR, with the options around it; None for a text that begins otherwise. Raises
    QueryRejected for other forms of EXPLAIN.
    """
    if "explain" not in sql.lower():
        return None
    found = read_tokens(sql).tokens
    words = [token.text.upper() for token in found[:5]]
    if not found or words[0] != _HEAD[0] or found[0].token_type in (TokenType.STRING, TokenType.IDENTIFIER):
        return None
    end = 2 if words[2:4] != _WITHOUT else 4
    if words[:2] != _HEAD or words[end : end + 1] != [_FOR]:
        raise QueryRejected(
            "Only EXPLAIN PLAN FOR is known.", error_code=SQL_PARSING, remedy="Write EXPLAIN PLAN FOR SELECT ..."
        )
    return f"{sql[: found[0].start]} {sql[found[end].end + 1 :]}"


def explaining(sql: str) -> str:
    """The same text with EXPLAIN PLAN FOR before its statement, unless it is there. Raises QueryRejected for one that
    cannot be split.
    """
    found = read_tokens(sql).tokens
    if not found or explained(sql) is not None:
        return sql
    return f"{sql[: found[0].start]}EXPLAIN PLAN FOR {sql[found[0].start :]}"
