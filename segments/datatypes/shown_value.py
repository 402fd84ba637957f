"""Values of rows as people read them: true, false and null as in JSON, not as Python writes them."""

from __future__ import annotations

from typing import Any

from segments.datatypes.jsontext import json_of


def plain_text(value: Any) -> str:
    """A value as text; bytes in hex, what holds others as JSON."""
    if isinstance(value, bytes):
        return value.hex()
    return json_of(value) if value is None or isinstance(value, bool | list | tuple | dict) else str(value)


def quoted_text(value: Any, most: int) -> str:
    """As ``plain_text``, cut to ``most`` characters; text in quotes, with its control characters escaped."""
    text = repr(value) if isinstance(value, str) else plain_text(value)
    return text if len(text) <= most else text[: most - 3] + "..."
