"""Values of JSON documents as the texts that Pinot's maps of configs hold."""

from __future__ import annotations

from typing import Any


def config_text(value: Any) -> str:
    """The value as text; true and false in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)
