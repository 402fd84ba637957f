"""The SQL parser with Pinot's quotes and our limits: tokens, brackets within brackets, and how much is read again."""

from __future__ import annotations

from typing import Final

from sqlglot import exp, parser, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenizerCore, TokenType

from segments.expressions.query_errors import SQL_PARSING, QueryRejected
from segments.expressions.syntax_errors import syntax_error_text

MAX_SQL_LENGTH: Final = 1_000_000
#: Words, marks and constants. A text with as many is parsed in about half a second, during which nothing else of the
#: process runs.
MAX_TOKENS: Final = 30_000
#: Brackets within brackets.
MAX_DEPTH: Final = 40
#: Tokens that the parser may read a second time, in addition to one for each. It reads names of types twice per level,
#: and so 2
#: ** levels times.
_MORE_READ_AGAIN: Final = 5_000
_OPENING: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})


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
        #: What is parsed for exp.Condition: an expression without the alias of a SELECT.
        EXPRESSION_PARSERS = {
            **parser.Parser.EXPRESSION_PARSERS,
            exp.Condition: lambda self: self._parse_disjunction(),
        }
        _read_again = 0

        def _retreat(self, index: int) -> None:
            """Go back to try another reading, as often as a query that means something needs. Raises QueryRejected."""
            if index < self._index:
                self._read_again += self._index - index
                if self._read_again > self._tokens_size + _MORE_READ_AGAIN:
                    raise QueryRejected(
                        "The query cannot be parsed in reasonable time: names of data types are nested in brackets.",
                        error_code=SQL_PARSING,
                        remedy="Put double quotes around columns that are named like a data type.",
                    )
            super()._retreat(index)


def tokenize(sql: str) -> list[Token]:
    """Split a text. Raises QueryRejected for one that is too long, too deep, or cannot be split."""
    if len(sql) > MAX_SQL_LENGTH:
        raise QueryRejected(
            f"The query has {len(sql)} characters, more than {MAX_SQL_LENGTH}.",
            error_code=SQL_PARSING,
            remedy="Split it into several.",
        )
    try:
        found: list[Token] = PinotSql().tokenize(sql)
    except SqlglotError as error:
        if isinstance(error.__cause__, QueryRejected):
            raise error.__cause__ from None
        raise QueryRejected(f"The SQL cannot be read: {syntax_error_text(error)}.", error_code=SQL_PARSING) from error
    _check_depth(found)
    return found


def _check_depth(found: list[Token]) -> None:
    depth = 0
    for token in found:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth > MAX_DEPTH:
            raise QueryRejected(
                f"The query is nested too deeply: at most {MAX_DEPTH} brackets within one another are allowed.",
                error_code=SQL_PARSING,
            )
