"""Reads the text of an ingestion expression into tokens for the SQL parser, which knows much more than such a text may
hold: it gets only tokens that may follow one another there.

Names and constants go to it as their positions in a list, so that no name is a word of SQL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from segments.domain.formats.whole_number import whole_number
from segments.errors import InvalidInput
from segments.expressions.sql import MAX_DEPTH

#: What a position in the list stands for: a name, or the value of a constant.
Leaf = str | int | float | bool
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)|(?P<text>'(?:[^']|'')*')"
    r"|(?P<quoted>\"(?:[^\"]|\"\")*\")"
    r"|(?P<name>[A-Za-z_$][\w$.]*)|(?P<mark><>|!=|<=|>=|[-+*/%(),=<>]))"
)
_BRACKET = re.compile(r"\s*\(")
_MAX_LENGTH: Final = 10_000
#: Kind of token -> type for the parser; CAST(x AS y) goes to it as a call of two arguments.
_LEAVES: Final = {
    "column": TokenType.IDENTIFIER, "constant": TokenType.STRING, "type": TokenType.STRING, "call": TokenType.VAR,
    "cast": TokenType.VAR,
}  # fmt: skip
_WORDS: Final = {
    "and": TokenType.AND, "or": TokenType.OR, "not": TokenType.NOT, "is": TokenType.IS, "null": TokenType.NULL,
    "in": TokenType.IN, "between": TokenType.BETWEEN,
}  # fmt: skip
_MARKS: Final = {
    "(": TokenType.L_PAREN, ")": TokenType.R_PAREN, ",": TokenType.COMMA, "+": TokenType.PLUS, "-": TokenType.DASH,
    "*": TokenType.STAR, "/": TokenType.SLASH, "%": TokenType.MOD, "=": TokenType.EQ, "<>": TokenType.NEQ,
    "!=": TokenType.NEQ, "<": TokenType.LT, "<=": TokenType.LTE, ">": TokenType.GT, ">=": TokenType.GTE,
}  # fmt: skip
_TYPES: Final = {**_LEAVES, **_WORDS, **_MARKS, "as": TokenType.COMMA, "to": TokenType.AND}
#: Of these one stands between two AND, OR, commas or brackets.
_COMPARES: Final = frozenset({"=", "<>", "!=", "<", "<=", ">", ">=", "is", "in", "between", "not in"})
_ENDS_VALUE: Final = frozenset({"column", "constant", "null", ")"})
#: What ends a condition; "" stands for the end of the text, and before a token for its begin.
_ENDS: Final = frozenset({")", ",", "and", "to", "or", "as", ""})
_VALUE: Final = frozenset({"column", "constant", "null", "call", "cast", "(", "-"})
_CONDITION: Final = _VALUE | {"not"}
#: What may follow a kind, "compared" after IN (...) and IS [NOT] NULL; after those that are not here, a value.
_FOLLOW: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(_ENDS_VALUE, _ENDS | _COMPARES | {"+", "-", "*", "/", "%"}), "compared": _ENDS,
    **dict.fromkeys(("", ",", "and", "or", "not"), _CONDITION), "(": _CONDITION | {")"},
    **dict.fromkeys(("call", "cast", "in"), frozenset("(")), "is": frozenset({"null", "is not"}),
    "is not": frozenset({"null"}), "not in": frozenset({"in", "between"}), "as": frozenset({"type"}),
    "type": frozenset({")"}),
}  # fmt: skip


def read_expression(text: str) -> tuple[list[Token], list[Leaf]]:
    """Tokens, and the names and constants that theirs stand for. Raises InvalidInput naming the place that does not
    fit; a Groovy script is refused by its name.
    """
    if re.match(r"\s*groovy\s*\(", text, re.IGNORECASE):
        raise InvalidInput(f"Function 'Groovy' is not supported: {text[:120]}", remedy="Use Pinot's own functions.")
    if len(text) > _MAX_LENGTH:
        raise InvalidInput(f"The expression has {len(text)} characters; at most {_MAX_LENGTH} are allowed.")
    reader = _Reader(text)
    for match in list(_matches(text)):
        reader.read(match)
    reader.step("", len(text))
    return reader.tokens, reader.leaves


def too_deep(text: str) -> InvalidInput:
    """The error for an expression with too many brackets, signs or sums within one another."""
    return InvalidInput(f"The expression '{text[:120]}' is nested too deeply.")


def _matches(text: str) -> Iterator[re.Match[str]]:
    place, end = 0, len(text.rstrip())
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None:
            raise _unreadable(text, place)
        yield match
        place = match.end()


def _unreadable(text: str, place: int) -> InvalidInput:
    shown = text[place : place + 40] or "its end"
    return InvalidInput(f"The expression '{text[:120]}' cannot be read at position {place}: {shown}")


class _Reader:
    """Checks every token by the one before it and by the brackets around it."""

    def __init__(self, text: str) -> None:
        self.tokens: list[Token] = []
        self.leaves: list[Leaf] = []
        self._text = text
        self._last = ""
        self._signs = 0
        #: What each open bracket is for, and the comparison since the last AND, OR or comma in it.
        self._open: list[tuple[str, str]] = [("", "")]

    def read(self, match: re.Match[str]) -> None:
        """One token of the text."""
        group = str(match.lastgroup)
        word, place, before = match[group], match.start(group), self._last
        kind = self.step(self._kind(group, word, match.end()), place)
        if kind in _LEAVES:
            self.leaves.append("cast" if kind == "cast" else _leaf(group, word))
            word = str(len(self.leaves) - 1)
        if kind == before == "not" and self.tokens and self.tokens[-1].token_type is TokenType.NOT:
            self.tokens.pop()  # NOT NOT, which may be as often as there is space
        else:
            made = _TYPES[{"not in": "not", "is not": "not"}.get(kind, kind)]
            self.tokens.append(Token(made, word, start=place, end=match.end() - 1))

    def step(self, kind: str, place: int) -> str:
        """Go on by a token of this kind, "" at the end; the kind it turns out to be."""
        used, compared = self._open[-1]
        if kind == "and" and compared == "between":
            kind = "to"
        if kind not in _FOLLOW.get(self._last, _VALUE) or not self._fits(kind, used, compared):
            raise _unreadable(self._text, place)
        if kind in _COMPARES or kind == "to":
            self._open[-1] = (used, kind)
        elif kind in ("and", "or", ","):
            self._open[-1] = (used, "")
        elif kind == "(":
            self._open.append((self._last if self._last in ("call", "cast", "in") else "", ""))
        elif kind == ")":
            self._open.pop()
        self._signs = self._signs + 1 if kind == "-" and self._last not in _ENDS_VALUE else 0
        if len(self._open) - 1 + self._signs > MAX_DEPTH:
            raise too_deep(self._text)
        ends_comparison = (kind == ")" and used == "in") or (kind == "null" and self._last in ("is", "is not"))
        self._last = "compared" if ends_comparison else kind
        return kind

    def _fits(self, kind: str, used: str, compared: str) -> bool:
        if kind in _COMPARES:
            return not compared or self._last == "not in"
        if compared == "between" and kind in ("or", ",", ")", "as", ""):
            return False
        match kind:
            case ",":
                return used in ("call", "in")
            case "as":
                return used == "cast"
            case ")":
                is_empty = self._last == "("
                return (
                    len(self._open) > 1
                    and (used in ("call", "in") if is_empty else True)
                    and ((used == "cast") == (self._last == "type"))
                )
            case "":
                return len(self._open) == 1
        return True

    def _kind(self, group: str, word: str, end: int) -> str:
        name = word.lower() if group == "name" else ""
        if self._last == "as" and group in ("name", "quoted") and name not in (*_WORDS, "true", "false"):
            return "type"
        if group == "mark":
            return word
        if name == "not":
            return {"is": "is not"}.get(self._last, "not in" if self._last in _ENDS_VALUE else "not")
        if name in _WORDS:
            return name
        if group in ("number", "text") or name in ("true", "false"):
            return "constant"
        if name == "as" and self._last in (*_ENDS_VALUE, "compared"):
            return "as"
        if name and _BRACKET.match(self._text, end):
            return "cast" if name == "cast" else "call"
        return "column"


def _leaf(group: str, word: str) -> Leaf:
    if group == "number":
        whole = whole_number(word)
        return float(word) if whole is None else whole
    if group == "name":
        return word.lower() == "true" if word.lower() in ("true", "false") else word
    return word[1:-1].replace(word[0] * 2, word[0])
