"""Reads query text once into tokens, within limits, and takes the options from its head (SET) and its end (OPTION)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from segments.expressions.query_errors import SQL_PARSING, QueryRejected
from segments.expressions.sql import tokenize

_SET_REMEDY: Final = "Write SET name = value; with a text in single quotes, a number or a word, before the SELECT."


@dataclass(frozen=True)
class QueryText:
    """``tokens`` of the statement alone, without comments, SET and OPTION; ``options`` from those two."""

    text: str
    tokens: list[Token]
    options: dict[str, str]


def read_tokens(sql: str) -> QueryText:
    """Split a text and take its options. Raises QueryRejected for one that is too long, too deep, or cannot
    be split.
    """
    found = tokenize(sql)
    begin, first = _settings(sql, found)
    end, last = _trailing(sql, found, begin)
    return QueryText(sql, found[begin:end], {**last, **first})


def _settings(sql: str, found: list[Token]) -> tuple[int, dict[str, str]]:
    """SET statements at the head: where what follows them begins, and what they set; a later one goes before an earlier
    one.
    """
    options: dict[str, str] = {}
    at = 0
    while at < len(found) and found[at].token_type is TokenType.SET:
        end = next((i for i in range(at, len(found)) if found[i].token_type is TokenType.SEMICOLON), len(found))
        equals = next((i for i in range(at, end) if found[i].token_type is TokenType.EQ), None)
        name = "".join(t.text for t in found[at + 1 : equals])
        value = _value(sql, found[equals + 1 : end]) if equals is not None else None
        if not name or value is None:
            shown = sql[found[at].start : found[end - 1].end + 1]
            raise QueryRejected(f"'{shown[:80]}' is malformed.", error_code=SQL_PARSING, remedy=_SET_REMEDY)
        options[name] = value
        at = min(end + 1, len(found))
    return at, options


def _value(sql: str, found: list[Token]) -> str | None:
    """The value of a SET: one text, or a word or number with its signs and dots; None when it is neither."""
    if not found:
        return None
    if len(found) == 1 and found[0].token_type is TokenType.STRING:
        return found[0].text
    text = sql[found[0].start : found[-1].end + 1]
    return text if all(c.isalnum() or c in "_.+-" for c in text) else None


def _trailing(sql: str, found: list[Token], begin: int) -> tuple[int, dict[str, str]]:
    """``OPTION(a=b, ...)`` clauses at the end: where the statement before them ends, and what they set; the last one
    goes first.
    """
    options: dict[str, str] = {}
    end = len(found)
    while (clause := _clause(found, begin, end)) is not None:
        opening, closing = clause
        inner = sql[found[opening].end + 1 : found[closing].start]
        for pair in inner.split(","):
            key, equals, value = pair.partition("=")
            if not equals:
                raise QueryRejected(
                    f"OPTION({inner[:80]}) is malformed.",
                    error_code=SQL_PARSING,
                    remedy="Write OPTION(key=value, ...).",
                )
            options.setdefault(key.strip(), value.strip().strip("'"))
        end = opening - 1
    return end, options


def _clause(found: list[Token], begin: int, end: int) -> tuple[int, int] | None:
    """The brackets of an OPTION clause that ends the tokens before ``end``, perhaps with a semicolon; None when there
    is none.
    """
    closing = end - 1
    if closing >= begin and found[closing].token_type is TokenType.SEMICOLON:
        closing -= 1
    if closing < begin or found[closing].token_type is not TokenType.R_PAREN:
        return None
    at = closing - 1
    while at > begin and found[at].token_type not in (TokenType.L_PAREN, TokenType.R_PAREN):
        at -= 1
    is_clause = at > begin and found[at].token_type is TokenType.L_PAREN and found[at - 1].text.upper() == "OPTION"
    return (at, closing) if is_clause else None
