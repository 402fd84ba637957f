"""What a person can have done about a finding, as every kind of cluster offers it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Fix:
    """One remedy, worked out now. ``does``: in a sentence. ``writes``: each change that it would make, with what it
    changes. ``run`` decides again from what is then, makes the changes, and returns a sentence for each.

    ``why_not``: why there is nothing to do, or it cannot be done now; ``run`` is then not to be called.
    """

    does: str
    writes: tuple[str, ...] = ()
    run: Callable[[], list[str]] = list
    why_not: str = ""


def no_fix(why_not: str) -> Fix:
    """There is no remedy to be had from here."""
    return Fix("Nothing can be done from here.", why_not=why_not)
