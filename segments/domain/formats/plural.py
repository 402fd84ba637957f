"""Numbers of things in sentences: ``1 segment``, ``1,200 segments``, ``1 replica was``, ``2 replicas were``."""

from __future__ import annotations


def counted(count: int, noun: str, one: str = "", many: str = "") -> str:
    """The number and the noun, which takes an ``s`` unless there is exactly one; then the verb that goes with it."""
    verb = one if count == 1 else many
    return f"{count:,} {noun}{'' if count == 1 else 's'}{' ' if verb else ''}{verb}"
