"""Text without U+0000, which neither PostgreSQL's texts nor its JSON can hold."""

from __future__ import annotations

from typing import Any, Final

_REPLACED: Final = "\N{REPLACEMENT CHARACTER}"


def without_nul(text: str) -> str:
    """The same with U+FFFD for each U+0000."""
    return text.replace("\0", _REPLACED)


def document_without_nul(value: Any) -> Any:
    """The same with U+FFFD for each U+0000 in its texts, also within lists and in keys and values of objects."""
    if isinstance(value, str):
        return without_nul(value)
    if isinstance(value, dict):
        return {document_without_nul(key): document_without_nul(item) for key, item in value.items()}
    return [document_without_nul(item) for item in value] if isinstance(value, list | tuple) else value
