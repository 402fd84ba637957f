"""Replacements: the lineage of a table and the switches of queries between its sides, as every kind of cluster offers
it.
"""

from __future__ import annotations

from typing import Protocol


class LineageEngine(Protocol):
    """Replacements: the lineage of a table and the switches of queries between its sides."""
