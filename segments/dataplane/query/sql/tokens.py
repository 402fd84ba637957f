"""Reads query text once into tokens, within limits, and takes the options from its head (SET) and its end (OPTION)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlglot import parser, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenizerCore, TokenType

from segments.expressions.rejected import SQL_PARSING, QueryRejected

MAX_SQL_LENGTH: Final = 1_000_000
#: Words, marks and constants. A text with as many is parsed in about half a second, during which nothing else of the
#: process runs.
MAX_TOKENS: Final = 30_000
#: Brackets within brackets.
MAX_DEPTH: Final = 40
#: Tokens that the parser may read a second time, beside one for each. It reads names of types twice per level, and so 2
#: ** levels times.
_MORE_READ_AGAIN: Final = 5_000
_OPENING: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_SET_REMEDY: Final = "Write SET name = value; with a text in single quotes, a number or a word, before the SELECT."


class _LimitedCore(TokenizerCore):
    """Stops at a number of tokens, not after making them all."""

    __slots__ = ()

    def _add(self, token_type: TokenType, text: str | None = None) -> None:
        if len(self.tokens) >= MAX_TOKENS:
            raise QueryRejected(
                f"The query has more than {MAX_TOKENS} words, marks and constants.",
                error_code=SQL_PARSING, remedy="Shorten its lists of constants, or split it into several queries.",
            )  # fmt: skip
        super()._add(token_type, text)


class PinotSql(Dialect):
    """Pinot's reading of SQL: double quotes and backticks are identifiers, functions stay as written."""

    class Tokenizer(tokens.Tokenizer):
        """Quotes of Pinot; ``$`` may begin the name of a virtual column."""

        IDENTIFIERS = ['"', "`"]
        QUOTES = ["'"]
        VAR_SINGLE_TOKENS = {"$"}
        COMMANDS = set()

        def _init_core(self) -> TokenizerCore:
            core = super()._init_core()
            core.__class__ = _LimitedCore
            return core

    class Parser(parser.Parser):
        """Knows no function by name, so the allow list is the only place that decides about functions."""

        FUNCTIONS = {}
        NO_PAREN_FUNCTIONS = {}
        FUNCTION_PARSERS = {k: v for k, v in parser.Parser.FUNCTION_PARSERS.items() if k in ("CAST", "EXTRACT")}
        _read_again = 0

        def _retreat(self, index: int) -> None:
            """Go back to try another reading, as often as a query that means something needs. Raises QueryRejected."""
            if index < self._index:
                self._read_again += self._index - index
                if self._read_again > self._tokens_size + _MORE_READ_AGAIN:
                    raise QueryRejected(
                        "The query can not be parsed in reasonable time: names of data types are nested in brackets.",
                        error_code=SQL_PARSING,
                        remedy="Put double quotes around columns that are named like a data type.",
                    )
            super()._retreat(index)


@dataclass(frozen=True)
class QueryText:
    """``tokens`` of the statement alone, without comments, SET and OPTION; ``options`` from those two."""

    text: str
    tokens: list[Token]
    options: dict[str, str]


def read_tokens(sql: str) -> QueryText:
    """Split a text and take its options. Raises QueryRejected for one that is too long, too deep, or can
    not be split.
    """
    if len(sql) > MAX_SQL_LENGTH:
        raise QueryRejected(
            f"The query has {len(sql)} characters, more than {MAX_SQL_LENGTH}.",
            error_code=SQL_PARSING,
            remedy="Split it into several.",
        )
    try:
        found = PinotSql().tokenize(sql)
    except SqlglotError as error:
        if isinstance(error.__cause__, QueryRejected):
            raise error.__cause__ from None
        raise QueryRejected(f"The SQL can not be read: {str(error)[:200]}", error_code=SQL_PARSING) from error
    _check_depth(found)
    begin, first = _settings(sql, found)
    end, last = _trailing(sql, found, begin)
    return QueryText(sql, found[begin:end], {**last, **first})


def _check_depth(found: list[Token]) -> None:
    depth = 0
    for token in found:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth > MAX_DEPTH:
            raise QueryRejected(
                f"The query is nested too deeply: at most {MAX_DEPTH} brackets within one another are allowed.",
                error_code=SQL_PARSING,
            )


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
            options.setdefault(key.strip(), value.strip())
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
    while at > begin and found[at].token_type not in (TokenType.L_PAREN, TokenType.R_PAREN, TokenType.STRING):
        at -= 1
    is_clause = at > begin and found[at].token_type is TokenType.L_PAREN and found[at - 1].text.upper() == "OPTION"
    return (at, closing) if is_clause else None
