"""The types that CAST knows, by the names that ingestion and queries may give them."""

from __future__ import annotations

from typing import Final

CASTS: Final[dict[str, str]] = {
    "INT": "INT",
    "INTEGER": "INT",
    "LONG": "LONG",
    "BIGINT": "LONG",
    "FLOAT": "FLOAT",
    "REAL": "FLOAT",
    "DOUBLE": "DOUBLE",
    "STRING": "STRING",
    "TEXT": "STRING",
    "VARCHAR": "STRING",
    "CHAR": "STRING",
    "BOOLEAN": "BOOLEAN",
    "TIMESTAMP": "TIMESTAMP",
    "JSON": "JSON",
}
#: What to use instead of a type that is not among them.
REMEDY: Final = f"Use one of {', '.join(sorted(set(CASTS.values())))}."
