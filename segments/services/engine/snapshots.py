"""Snapshots: queries on exactly the named segments, hidden ones too, and queries of people, as every kind of cluster
offers it.
"""

from __future__ import annotations

from typing import Protocol


class SnapshotEngine(Protocol):
    """Snapshots: queries on exactly the named segments, hidden ones too, and queries of people."""
