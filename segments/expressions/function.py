"""What is known of one function of Pinot: its names and arguments, what it does to null and to a text's length, and its
two back ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from segments.expressions.duckdb.compiled import Expr

#: From so many arguments to so many (None: any number).
Count = tuple[int, int | None]


@dataclass(frozen=True)
class Function:
    """One function under Pinot's ``name`` and its aliases.

    ``arrow`` runs over as many plain arrays of one length as there are arguments and returns one; values that do not
    fit raise BadValue with their row. ``duckdb`` builds DuckDB text from as many expressions; if the function
    ``reads_clock``, the query's moment in milliseconds follows them. ``only`` says why one of the two is missing, and
    ``arrow_takes`` how many arguments Arrow knows where those are fewer.

    ``keeps_null``: null in any argument gives null. ``grows``: its text can be longer than the longest argument,
    because it joins them, or replaces parts of the first.
    """

    name: str
    takes: Count
    arrow: Callable[..., Any] | None = None
    duckdb: Callable[..., Expr] | None = None
    aliases: tuple[str, ...] = ()
    only: str = ""
    arrow_takes: Count | None = None
    keeps_null: bool = True
    grows: Literal["joined", "replaced"] | None = None
    reads_clock: bool = False


def canonical(name: str) -> str:
    """The form in which names are compared: lower case, without underscores, as in Pinot."""
    return name.replace("_", "").lower()


def takes(count: Count, given: int) -> str | None:
    """None for a number of arguments that fits, else the numbers that do: ``2``, ``2 to 3``, ``1 to more``."""
    least, most = count
    if least <= given and (most is None or given <= most):
        return None
    return str(least) if least == most else f"{least} to {'more' if most is None else most}"
