"""Tables and schemas: create, change, enable, remove, as every kind of cluster offers it."""

from __future__ import annotations

from typing import Protocol


class TableEngine(Protocol):
    """Tables and schemas: create, change, enable, remove."""
