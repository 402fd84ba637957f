"""Java's PathMatcher patterns (``glob:`` and ``regex:``), as ingestion jobs use them to choose files; both are run by
RE2.
"""

from __future__ import annotations

from collections.abc import Iterator

import re2

from segments.domain.formats.user_regex import MAX_LENGTH, UserRegex, user_regex
from segments.errors import InvalidInput

_REMEDY = "Begin it with glob: or regex:, for example glob:**/*.csv; it is matched against the whole path."


def parse_pattern(text: str) -> UserRegex:
    """A pattern to match against a whole path. Raises InvalidInput naming the pattern."""
    kind, colon, body = text.partition(":")
    if not colon or kind.lower() not in ("glob", "regex"):
        raise InvalidInput(f"'{text[:200]}' is not a file name pattern.", remedy=_REMEDY)
    if len(body) > MAX_LENGTH // 4:
        raise InvalidInput(
            f"'{text[:40]}...' is not a file name pattern: it is longer than {MAX_LENGTH // 4} characters.",
            remedy=_REMEDY,
        )
    try:
        return user_regex(body if kind.lower() == "regex" else _glob_to_regex(body), dot_is_all=True)
    except InvalidInput as error:
        raise InvalidInput(
            f"'{text}' is not a file name pattern: {error.message}", remedy=error.remedy or _REMEDY
        ) from error


def _glob_to_regex(glob: str) -> str:
    """``**`` crosses folders, ``*`` and ``?`` do not; ``[a-z]``, ``[!a]``, ``{a,b}`` and ``\\`` as in Java. Raises
    InvalidInput.
    """
    out: list[str] = []
    at, in_group = 0, False
    while at < len(glob):
        char = glob[at]
        at += 1
        match char:
            case "*" if glob[at : at + 1] == "*":
                out.append(".*")
                at += 1
            case "*":
                out.append("[^/]*")
            case "?":
                out.append("[^/]")
            case "[":
                text, at = _bracket(glob, at)
                out.append(text)
            case "{" if not in_group:
                out.append("(?:")
                in_group = True
            case "}" if in_group:
                out.append(")")
                in_group = False
            case "," if in_group:
                out.append("|")
            case "{":
                raise InvalidInput("Groups cannot be nested.")
            case "\\":
                if at == len(glob):
                    raise InvalidInput("Nothing follows the last backslash.")
                out.append(_escaped(glob[at]))
                at += 1
            case _:
                out.append(_escaped(char))
    if in_group:
        raise InvalidInput("'}' is missing.")
    return "".join(out)


def _bracket(glob: str, at: int) -> tuple[str, int]:
    """The class after ``[``: its regex (never matching a slash) and where it ends. Raises InvalidInput."""
    end = glob.find("]", at + 1)
    if end < 0:
        raise InvalidInput("']' is missing.")
    body = glob[at:end]
    is_negated = body.startswith("!")
    items = "".join(_items(body[is_negated:]))
    return (f"[^/{items}]" if is_negated else f"[{items}]"), end + 1


def _items(body: str) -> Iterator[str]:
    """The characters and ranges of a class; a range that holds the slash is cut there. Raises InvalidInput."""
    at = 0
    while at < len(body):
        first, last = body[at], body[at + 2] if body[at + 1 : at + 2] == "-" and at + 2 < len(body) else body[at]
        at += 3 if last is not first else 1
        if last < first:
            raise InvalidInput(f"The range {first}-{last} goes backwards.")
        if "/" in (first, last):
            raise InvalidInput("'/' cannot stand in a class.")
        if first < "/" < last:
            yield f"{_escaped(first)}-.0-{_escaped(last)}"
        else:
            yield _escaped(first) if first == last else f"{_escaped(first)}-{_escaped(last)}"


def _escaped(text: str) -> str:
    return str(re2.escape(text))
