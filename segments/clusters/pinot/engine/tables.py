"""Tables and schemas: create, change, enable, remove, on a real Pinot."""

from __future__ import annotations


class PinotTableEngine:
    """``segments.services.engine.tables.TableEngine`` on a real Pinot."""
