"""Replacements: the lineage of a table and the switches of queries between its sides, on the embedded cluster."""

from __future__ import annotations


class EmbeddedLineageEngine:
    """``segments.services.engine.lineage.LineageEngine`` on the embedded cluster."""
