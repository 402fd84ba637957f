"""Schemas of Avro: which of their logical types are applied when values are read."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any


def numbers_as_stored(schema: Any, kept: Collection[str]) -> Any:
    """A schema (its parsed JSON) in which times and dates are the numbers they are stored as: no logical type is left
    but those ``kept``.
    """
    if isinstance(schema, list):
        return [numbers_as_stored(node, kept) for node in schema]
    if not isinstance(schema, dict):
        return schema
    return {k: numbers_as_stored(v, kept) for k, v in schema.items() if k != "logicalType" or v in kept}
