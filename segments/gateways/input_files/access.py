"""What may be read as input and as whom, in plain values that travel to the executors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class FileAccess:
    """``roots``: folders and addresses below which files may be read. ``is_open``: anywhere; paths are read as they are
    given, for they come from a list that was made within the roots.

    ``login``: (property, value) pairs of the store's file system, in the order of their names; credentials among them,
    so they are neither printed nor stored. Empty: the store is asked with what the process's environment holds.
    """

    roots: tuple[str, ...] = ()
    login: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    is_open: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain values, credentials included: for executors only."""
        return {"roots": list(self.roots), "login": [list(pair) for pair in self.login]}


def access_from_json(body: Mapping[str, Any]) -> FileAccess:
    """Back from ``FileAccess.to_json``; open when nothing is given."""
    login = tuple((k, v) for k, v in body.get("login", ()))
    return FileAccess(tuple(body.get("roots", ())), login, is_open="roots" not in body)
