"""Models of schemas.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field


class SchemaChanged(Struct, frozen=True, kw_only=True):
    """What was done."""

    status: str
    unrecognized_properties: dict[str, Any] = field(name="unrecognizedProperties")
