"""Segments: how they come into a table, leave it, come back, and where their files are, as every kind of cluster offers
it.
"""

from __future__ import annotations

from typing import Protocol


class SegmentEngine(Protocol):
    """Segments: how they come into a table, leave it, come back, and where their files are."""
