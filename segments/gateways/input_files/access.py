"""What may be read as input: the roots, in plain values that travel to the executors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FileAccess:
    """``roots``: folders below which files may be read. Without any, paths are read as they are given: they come from a
    list that was made within the roots.
    """

    roots: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"roots": list(self.roots)}


def access_from_json(body: Mapping[str, Any]) -> FileAccess:
    """Back from ``FileAccess.to_json``."""
    return FileAccess(tuple(body.get("roots", ())))
