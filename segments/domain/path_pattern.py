"""Java's PathMatcher patterns (``glob:`` and ``regex:``), as ingestion jobs use them to choose files (batch-push.md 3)."""

from __future__ import annotations

import re

from segments.errors import InvalidInput

_REMEDY = "Begin it with glob: or regex:, for example glob:**/*.csv; it is matched against the whole path."


def parse_pattern(text: str) -> re.Pattern[str]:
    """A pattern to ``fullmatch`` against a whole path. Raises InvalidInput naming the pattern."""
    kind, colon, body = text.partition(":")
    if not colon or kind.lower() not in ("glob", "regex"):
        raise InvalidInput(f"'{text}' is no file name pattern.", remedy=_REMEDY)
    try:
        return re.compile(body if kind.lower() == "regex" else glob_to_regex(body), re.DOTALL)
    except re.error as error:
        raise InvalidInput(f"'{text}' is no file name pattern: {error}.", remedy=_REMEDY) from error


def glob_to_regex(glob: str) -> str:
    """``**`` crosses folders, ``*`` and ``?`` do not; ``[a-z]``, ``[!a]``, ``{a,b}`` and ``\\`` as in Java. Raises re.error."""
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
                raise re.error("groups can not be nested")
            case "\\":
                if at == len(glob):
                    raise re.error("nothing follows the last backslash")
                out.append(re.escape(glob[at]))
                at += 1
            case _:
                out.append(re.escape(char))
    if in_group:
        raise re.error("'}' is missing")
    return "".join(out)


def _bracket(glob: str, at: int) -> tuple[str, int]:
    """The class after ``[``: its regex (never matching a slash) and where it ends."""
    end = glob.find("]", at + 1)
    if end < 0:
        raise re.error("']' is missing")
    body, negate = glob[at:end], ""
    if body.startswith("!"):
        body, negate = body[1:], "^"
    body = body.replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^").replace("&&", "\\&&")
    return f"(?!/)[{negate}{body}]", end + 1
