"""Bounds how long texts may grow that a query makes: ``replace`` in ``replace`` makes them ten times as long per level.

Counted from the query's text alone, before anything runs: a column's value counts as so many characters, and functions
that make longer texts multiply and add. What can become longer than the limit is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from segments.expressions.function import canonical
from segments.expressions.functions import FUNCTIONS
from segments.expressions.query_errors import QUERY_VALIDATION, QueryRejected

#: Characters of one made text; and those that a value of a column counts as, which is Pinot's own maximum unless a
#: schema says otherwise.
MAX_TEXT: Final = 64 << 10
COLUMN_TEXT: Final = 512
#: Of the select's parts those that may name an alias.
_AFTER_SELECT: Final = ("group", "having", "order")


def check_growth(select: exp.Select) -> None:
    """Raises QueryRejected for a query with a text that can become longer than ``MAX_TEXT`` characters."""
    if not any(_growth(node) for node in select.find_all(exp.DPipe, exp.Anonymous)):
        return
    aliases = {item.alias: item.this for item in select.expressions if isinstance(item, exp.Alias)}
    for item in (*select.expressions, select.args.get("where")):
        if item is not None:
            longest_text(item, _of_columns({}))
    for part in _AFTER_SELECT:
        if select.args.get(part) is not None:
            longest_text(select.args[part], _of_columns(aliases))


def _of_columns(aliases: Mapping[str, exp.Expression]) -> Callable[[exp.Expression], int | None]:
    def length(node: exp.Expression) -> int | None:
        if not isinstance(node, exp.Column):
            return None
        stands_for = None if node.table else aliases.get(node.name)
        return longest_text(stands_for, _of_columns({})) if stands_for is not None else COLUMN_TEXT

    return length


def _growth(node: exp.Expression) -> str | None:
    if isinstance(node, exp.DPipe):
        return "joined"
    function = FUNCTIONS.get(canonical(str(node.this))) if isinstance(node, exp.Anonymous) else None
    return function.grows if function else None


def longest_text(node: exp.Expression, known: Callable[[exp.Expression], int | None]) -> int:
    """Characters of the longest text that the expression can make; of conditions and the like, of the longest inside.
    ``known`` gives those of columns, None for what is none. Raises QueryRejected above ``MAX_TEXT``.
    """
    if isinstance(node, exp.Literal):
        return len(str(node.this))
    given = known(node)
    if given is not None:
        return given
    if not any(_growth(part) for part in node.find_all(exp.DPipe, exp.Anonymous)):
        return _longest_leaf(node, known)
    inner = [longest_text(child, known) for child in node.iter_expressions()]
    growth = _growth(node)
    if growth is None:
        return max(inner, default=0)
    if growth == "replaced" and len(inner) == 3:
        found = inner[0] * max(1, -(-inner[2] // _shortest(node.expressions[1])))
    else:
        found = sum(inner)
    if found > MAX_TEXT:
        raise QueryRejected(
            f"The query can make texts of {found} characters; at most {MAX_TEXT} are allowed.",
            error_code=QUERY_VALIDATION,
            remedy="Nest replace() and concat() less, or replace by shorter texts.",
        )
    return found


def _longest_leaf(node: exp.Expression, known: Callable[[exp.Expression], int | None]) -> int:
    """Of an expression that makes no text longer; walked in a loop, because chains of conditions are deep."""
    longest, left = 0, list(node.iter_expressions())
    while left:
        part = left.pop()
        given = len(str(part.this)) if isinstance(part, exp.Literal) else known(part)
        longest = max(longest, given or 0)
        if given is None:
            left += part.iter_expressions()
    return longest


def _shortest(node: exp.Expression) -> int:
    """Characters that are at least taken out for what is put in."""
    return max(1, len(str(node.this))) if isinstance(node, exp.Literal) and node.is_string else 1
