"""Segments: how they come into a table, leave it, come back, and where their files are, on the embedded cluster."""

from __future__ import annotations


class EmbeddedSegmentEngine:
    """``segments.services.engine.segments.SegmentEngine`` on the embedded cluster."""
