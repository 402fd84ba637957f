"""JSON that others send, read within bounds: how deep it is nested, how long its numbers are, each key once, no NaN and
no Infinity.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, NoReturn

from segments.errors import InvalidInput

#: Objects and lists within one another.
MAX_DEPTH: Final = 100
#: Characters of one number, as in Jackson, which reads Pinot's JSON.
MAX_NUMBER_LENGTH: Final = 1_000
#: How a character beyond 16 bits begins that is written as two escapes; one of the two alone is not a character.
_HALVES: Final = ("\\ud", "\\uD")
#: An even number of backslashes before it are backslashes; the lookbehind makes each run of them be read once.
_ESCAPED_NUL: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def parse_json(given: str | bytes, *, what: str = "The text") -> Any:
    """The values of a JSON text. ``what`` begins the sentence that says what is wrong. Raises InvalidInput."""
    try:
        text = given if isinstance(given, str) else given.decode(json.detect_encoding(given))
        found = json.loads(
            text, parse_constant=_no_number, parse_int=_whole, parse_float=_decimal, object_pairs_hook=_each_once
        )  # nested calls of the scanner are in C
        if _is_deeper(text, found):
            raise InvalidInput(
                f"{what} is nested too deeply: at most {MAX_DEPTH} objects and lists within one another are allowed."
            )
        if "\\u0000" in text and _ESCAPED_NUL.search(text):
            raise ValueError("a text in it holds the character U+0000, which no name and no database can hold")
        if any(half in text for half in _HALVES):
            json.dumps(
                found, ensure_ascii=False
            ).encode()  # half a character is a ValueError; a whole one in two halves is not
    except RecursionError as error:
        raise InvalidInput(
            f"{what} is nested too deeply: at most {MAX_DEPTH} objects and lists within one another are allowed."
        ) from error
    except ValueError as error:
        raise InvalidInput(f"{what} is not JSON: {_reason(error)}.") from error
    return found


def _is_deeper(text: str, found: Any) -> bool:
    """Is anything deeper than allowed? Goes from level to level, unless there are too few brackets for it."""
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return False
    level = [found]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return any(isinstance(v, dict | list) for v in level)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"'{twice[:100]}' is there twice")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON value")


def _whole(text: str) -> int:
    if len(text) > MAX_NUMBER_LENGTH:
        raise ValueError(f"a number has {len(text)} digits, at most {MAX_NUMBER_LENGTH} are allowed")
    return int(text)


def _decimal(text: str) -> float:
    found = float(text) if len(text) <= MAX_NUMBER_LENGTH else math.inf
    if math.isinf(found):
        raise ValueError(f"the number {text[:40]} is too large")
    return found


def _reason(error: ValueError) -> str:
    if isinstance(error, UnicodeError):
        return f"it is not {error.encoding}" if isinstance(error, UnicodeDecodeError) else "it holds invalid characters"
    return str(error).rstrip(".")
