"""Numbers of things in sentences: ``1 segment``, ``1,200 segments``."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """The number and the noun, which takes an ``s`` unless there is exactly one."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
