"""Parses ingestion expressions such as ``toEpochDays(ts) > 19000 AND NOT startsWith(city, 'x')`` into a tree.

The grammar is the part of Pinot's SQL expressions that ingestion uses: columns (bare or in double quotes), literals,
function calls, comparisons, arithmetic, AND, OR, NOT, IS [NOT] NULL, [NOT] IN, [NOT] BETWEEN, CAST.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from segments.domain.formats.whole_number import whole_number
from segments.errors import InvalidInput

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)|(?P<text>'(?:[^']|'')*')|(?P<quoted>\"(?:[^\"]|\"\")*\")"
    r"|(?P<name>[A-Za-z_$][\w$.]*)|(?P<mark><>|!=|<=|>=|[-+*/%(),=<>]))"
)
_WORDS: Final = frozenset({"and", "or", "not", "is", "null", "in", "between", "true", "false"})
_COMPARISONS: Final = {
    "=": "equals", "!=": "notEquals", "<>": "notEquals", "<": "lessThan", "<=": "lessThanOrEqual", ">": "greaterThan",
    ">=": "greaterThanOrEqual",
}  # fmt: skip
_SUMS: Final = {"+": "plus", "-": "minus"}
_PRODUCTS: Final = {"*": "times", "/": "divide", "%": "mod"}
_MAX_LENGTH: Final = 10_000
_MAX_DEPTH: Final = 100
#: Of a whole number; what is longer is no LONG and is read as a DOUBLE.
_MOST_DIGITS: Final = 40


@dataclass(frozen=True)
class Column:
    """A column of the input, or one that another transform makes."""

    name: str


@dataclass(frozen=True)
class Literal:
    """A constant: text, whole or decimal number, true, false or null."""

    value: str | int | float | bool | None


@dataclass(frozen=True)
class Call:
    """A function and its arguments; operators are calls of the functions that Pinot gives them."""

    function: str
    arguments: tuple[Expression, ...]


Expression = Column | Literal | Call


def parse_expression(text: str) -> Expression:
    """The tree of an expression. Raises InvalidInput naming the place that does not parse; a Groovy script is refused
    by its name.
    """
    if re.match(r"\s*groovy\s*\(", text, re.IGNORECASE):
        raise InvalidInput(f"Function 'Groovy' is not supported: {text[:120]}", remedy="Use Pinot's own functions.")
    if len(text) > _MAX_LENGTH:
        raise InvalidInput(f"The expression has {len(text)} characters; at most {_MAX_LENGTH} are allowed.")
    return _Parser(text).whole()


def columns_of(expression: Expression) -> frozenset[str]:
    """Names of all columns it reads."""
    if isinstance(expression, Column):
        return frozenset({expression.name})
    if isinstance(expression, Literal):
        return frozenset()
    return frozenset().union(*map(columns_of, expression.arguments))


def functions_of(expression: Expression) -> frozenset[str]:
    """Names of all functions it calls, as written."""
    if not isinstance(expression, Call):
        return frozenset()
    return frozenset({expression.function}).union(*map(functions_of, expression.arguments))


class _Parser:
    """Recursive descent, one method per level of precedence."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str, int]] = []
        place, end = 0, len(text.rstrip())
        while place < end:
            match = _TOKEN.match(text, place)
            if match is None:
                raise self._bad(place)
            kind = str(match.lastgroup)
            self._tokens.append((kind, match[kind], match.start(kind)))
            place = match.end()
        self._next = 0
        self._depth = 0

    def whole(self) -> Expression:
        found = self._or()
        if self._next < len(self._tokens):
            raise self._bad(self._tokens[self._next][2])
        return found

    def _deeper(self, parse: Callable[[], Expression]) -> Expression:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise InvalidInput(f"The expression '{self._text[:120]}' is nested too deeply.")
        found = parse()
        self._depth -= 1
        return found

    def _or(self) -> Expression:
        found = [self._deeper(self._and)]
        while self._word("or"):
            found.append(self._and())
        return found[0] if len(found) == 1 else Call("or", tuple(found))

    def _and(self) -> Expression:
        found = [self._not()]
        while self._word("and"):
            found.append(self._not())
        return found[0] if len(found) == 1 else Call("and", tuple(found))

    def _not(self) -> Expression:
        negations = 0
        while self._word("not"):
            negations += 1
        found = self._comparison()
        return Call("not", (found,)) if negations % 2 else found

    def _comparison(self) -> Expression:
        left = self._sum()
        mark = self._mark(*_COMPARISONS)
        if mark:
            return Call(_COMPARISONS[mark], (left, self._sum()))
        if self._word("is"):
            negated = self._word("not")
            self._need(self._word("null"))
            return Call("isNotNull" if negated else "isNull", (left,))
        negated = self._word("not")
        found = self._in_or_between(left)
        if negated:
            self._need(found is not left)
            return Call("not", (found,))
        return found

    def _in_or_between(self, left: Expression) -> Expression:
        if self._word("in"):
            self._need(self._mark("("))
            return Call("in", (left, *self._arguments()))
        if self._word("between"):
            low = self._sum()
            self._need(self._word("and"))
            return Call("between", (left, low, self._sum()))
        return left

    def _sum(self) -> Expression:
        found = self._product()
        while mark := self._mark(*_SUMS):
            found = Call(_SUMS[mark], (found, self._product()))
        return found

    def _product(self) -> Expression:
        found = self._value()
        while mark := self._mark(*_PRODUCTS):
            found = Call(_PRODUCTS[mark], (found, self._value()))
        return found

    def _value(self) -> Expression:
        kind, text, place = self._tokens[self._next] if self._next < len(self._tokens) else ("", "", len(self._text))
        self._next += 1
        match kind:
            case "number":
                whole = whole_number(text)
                return Literal(float(text) if whole is None else whole)
            case "text":
                return Literal(text[1:-1].replace("''", "'"))
            case "quoted":
                return Column(text[1:-1].replace('""', '"'))
            case "name" if text.lower() in ("true", "false", "null"):
                return Literal({"true": True, "false": False, "null": None}[text.lower()])
            case "name" if text.lower() == "cast" and self._mark("("):
                return self._cast()
            case "name" if text.lower() not in _WORDS:
                return Call(text, self._arguments()) if self._mark("(") else Column(text)
            case "mark" if text == "(":
                found = self._or()
                self._need(self._mark(")"))
                return found
            case "mark" if text == "-":
                value = self._deeper(self._value)
                if (
                    isinstance(value, Literal)
                    and isinstance(value.value, int | float)
                    and not isinstance(value.value, bool)
                ):
                    return Literal(-value.value)
                return Call("minus", (Literal(0), value))
        raise self._bad(place)

    def _cast(self) -> Expression:
        found = self._or()
        self._need(self._word("as"))
        kind = self._value()
        self._need(isinstance(kind, Column) and self._mark(")"))
        return Call("cast", (found, Literal(kind.name if isinstance(kind, Column) else None)))

    def _arguments(self) -> tuple[Expression, ...]:
        found: list[Expression] = []
        if self._mark(")"):
            return ()
        while True:
            found.append(self._or())
            if self._mark(")"):
                return tuple(found)
            self._need(self._mark(","))

    def _word(self, word: str) -> bool:
        is_next = (
            self._next < len(self._tokens)
            and self._tokens[self._next][0] == "name"
            and self._tokens[self._next][1].lower() == word
        )
        self._next += is_next
        return is_next

    def _mark(self, *marks: str) -> str | None:
        if (
            self._next < len(self._tokens)
            and self._tokens[self._next][0] == "mark"
            and self._tokens[self._next][1] in marks
        ):
            self._next += 1
            return self._tokens[self._next - 1][1]
        return None

    def _need(self, holds: object) -> None:
        if not holds:
            raise self._bad(self._tokens[self._next][2] if self._next < len(self._tokens) else len(self._text))

    def _bad(self, place: int) -> InvalidInput:
        shown = self._text[place : place + 40] or "its end"
        return InvalidInput(f"The expression '{self._text[:120]}' can not be read at position {place}: {shown}")
