"""Replacements: the lineage of a table and the switches of queries between its sides, on a real Pinot."""

from __future__ import annotations


class PinotLineageEngine:
    """``segments.services.engine.lineage.LineageEngine`` on a real Pinot."""
