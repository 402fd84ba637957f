"""Tables and schemas: create, change, enable, remove, on the embedded cluster."""

from __future__ import annotations


class EmbeddedTableEngine:
    """``segments.services.engine.tables.TableEngine`` on the embedded cluster."""
