"""Texts of few bytes that mean much."""

from __future__ import annotations


def aliases(levels: int) -> str:
    """YAML whose values are ten times as many with every line."""
    lines = ["a: &a [x,x,x,x,x,x,x,x,x,x]"]
    for at in range(levels):
        before, name = chr(ord("a") + at), chr(ord("b") + at)
        lines.append(f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]")
    return "\n".join(lines)


def merges(levels: int) -> str:
    """YAML whose maps are merged from ten others with every line."""
    lines = ["a: &a {x: 1}"]
    for at in range(levels):
        before, name = chr(ord("a") + at), chr(ord("b") + at)
        lines.append(f"{name}: &{name} {{<<: [{','.join([f'*{before}'] * 10)}]}}")
    return "\n".join(lines)
