"""Segments: how they come into a table, leave it, come back, and where their files are, on a real Pinot."""

from __future__ import annotations


class PinotSegmentEngine:
    """``segments.services.engine.segments.SegmentEngine`` on a real Pinot."""
