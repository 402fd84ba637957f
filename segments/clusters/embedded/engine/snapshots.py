"""Snapshots: queries on exactly the named segments, hidden ones too, and queries of people, on the embedded cluster."""

from __future__ import annotations


class EmbeddedSnapshotEngine:
    """``segments.services.engine.snapshots.SnapshotEngine`` on the embedded cluster."""
