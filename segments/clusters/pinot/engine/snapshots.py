"""Snapshots: queries on exactly the named segments, hidden ones too, and queries of people, on a real Pinot."""

from __future__ import annotations


class PinotSnapshotEngine:
    """``segments.services.engine.snapshots.SnapshotEngine`` on a real Pinot."""
