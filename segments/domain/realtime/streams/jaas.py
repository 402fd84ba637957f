"""User and password out of ``sasl.jaas.config``, the text with which Kafka's Java clients log in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from segments.errors import InvalidInput

KEY: Final = "sasl.jaas.config"
#: Login modules that hold nothing but user and password. Any other would have a client ask somebody else, or run
#: something.
_MODULES: Final = ("PlainLoginModule", "ScramLoginModule")
_LONGEST: Final = 20_000
_QUOTES: Final = "\"'"
_ENDS: Final = frozenset("=;\"'")


def parse_jaas(text: str) -> dict[str, str]:
    """The options of the one login module: ``username`` and ``password``, as far as given; {} for an empty text.

    Cost grows with the text's length only. Raises InvalidInput for another module or a text that does not read; no
    value of it is repeated.
    """
    if len(text) > _LONGEST:
        raise _unread(f"is longer than {_LONGEST} characters")
    tokens = list(_tokens(text))
    if not tokens:
        return {}
    module = tokens[0].rpartition(".")[2]
    if module not in _MODULES:
        raise _unread("names another login module")
    return _options(tokens[1:])


def _options(tokens: list[str]) -> dict[str, str]:
    """Of ``required username = "x" password = "y" ;``. Quoted values come with a leading quote."""
    found: dict[str, str] = {}
    at = 0
    while at < len(tokens):
        if tokens[at] == "=":
            if at == 0 or at + 1 == len(tokens) or tokens[at + 1] in ("=", ";"):
                raise _unread("has '=' without a name or a value")
            value = tokens[at + 1]
            found[tokens[at - 1]] = value[1:] if value[:1] in _QUOTES else value
            at += 1
        at += 1
    return {k: v for k, v in found.items() if k in ("username", "password")}


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        sign = text[at]
        if sign.isspace():
            at += 1
        elif sign in _QUOTES:
            value, at = _quoted(text, at)
            yield sign + value
        elif sign in _ENDS:
            yield sign
            at += 1
        else:
            end = at
            while end < len(text) and not text[end].isspace() and text[end] not in _ENDS:
                end += 1
            yield text[at:end]
            at = end


def _quoted(text: str, start: int) -> tuple[str, int]:
    """The value behind the quote at ``start``, and where it ends."""
    out, at = [], start + 1
    while at < len(text) and text[at] != text[start]:
        at += text[at] == "\\"
        out.append(text[at : at + 1])
        at += 1
    if at >= len(text):
        raise _unread("has a quote without its end")
    return "".join(out), at + 1


def _unread(what: str) -> InvalidInput:
    return InvalidInput(
        f"'{KEY}' {what}.",
        remedy='Write it as: org.apache.kafka.common.security.scram.ScramLoginModule required username="..." '
        'password="...";',
        field=KEY,
    )
