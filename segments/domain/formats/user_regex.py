"""Regular expressions that users write: matched by RE2 in time that grows with the text, within a bound of length and
memory.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import re2

from segments.errors import InvalidInput

MAX_LENGTH: Final = 1_000
#: Bytes that one compiled pattern may take, with what matching remembers.
_MAX_MEMORY: Final = 4 << 20
_REMEDY: Final = (
    "Patterns are run by RE2: of Java's, lookahead, lookbehind, back-references, possessive repetition and "
    "classes within classes"
    " are not known, and repetition counts end at 1000."
)


@dataclass(frozen=True)
class UserRegex:
    """A pattern that is matched against whole texts. ``groups``: number of its capturing groups."""

    text: str
    groups: int
    _compiled: Any

    def matches(self, text: str) -> bool:
        """Does the pattern cover the whole text?"""
        return self._compiled.fullmatch(os.fsencode(text)) is not None

    def parts(self, text: str) -> tuple[str, ...] | None:
        """The whole text and what each group matched (empty: nothing); None when the pattern does not cover the whole
        text.
        """
        found = self._compiled.fullmatch(os.fsencode(text))
        return None if found is None else tuple(os.fsdecode(found.group(i) or b"") for i in range(self.groups + 1))


def user_regex(text: str, *, dot_is_all: bool = False) -> UserRegex:
    """Compile a pattern; ``dot_is_all``: a dot matches line ends, too. Raises InvalidInput saying what is wrong with
    it.
    """
    if len(text) > MAX_LENGTH:
        raise InvalidInput(f"The pattern has {len(text)} characters; at most {MAX_LENGTH} are allowed.")
    if "&&" in text:  # RE2 takes Java's intersection of classes for two characters
        raise InvalidInput(f"{text!r} is not a pattern: classes cannot be joined by &&.", remedy=_REMEDY)
    return _compile(text, dot_is_all)


@lru_cache(maxsize=64)
def _compile(text: str, dot_is_all: bool) -> UserRegex:
    options = re2.Options()
    options.max_mem, options.log_errors, options.dot_nl = _MAX_MEMORY, False, dot_is_all
    try:
        compiled = re2.compile(text.encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        reason = (
            error.args[0].decode("utf-8", "replace")
            if isinstance(error, re2.error) and error.args
            else "it is not valid text"
        )
        raise InvalidInput(f"{text!r} is not a pattern: {reason}.", remedy=_REMEDY) from error
    return UserRegex(text, compiled.groups, compiled)
