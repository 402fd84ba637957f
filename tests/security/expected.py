"""Reads ``expectations.txt``: what each route must need."""

from __future__ import annotations

from pathlib import Path

_FILE = Path(__file__).with_name("expectations.txt")
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def of_web() -> dict[tuple[str, str], str]:
    """{(method, path): need}."""
    found: dict[tuple[str, str], str] = {}
    for head, need in _lines():
        if head[0] in _METHODS:
            for method in head[:-1]:
                assert (method, head[-1]) not in found, f"twice: {method} {head[-1]}"
                found[method, head[-1]] = need
    return found


def of_admin() -> dict[str, str]:
    """{app/model: need}."""
    return {head[1]: need for head, need in _lines() if head[0] == "ADMIN"}


def of_servers() -> dict[tuple[str, str], str]:
    """{(method, path): need}."""
    return {(head[1], head[2]): need for head, need in _lines() if head[0] == "SERVER"}


def _lines() -> list[tuple[list[str], str]]:
    plain = [line for line in _FILE.read_text().splitlines() if line and not line.startswith("#")]
    return [(head.split(), need.strip()) for head, _, need in (line.partition(" = ") for line in plain)]
