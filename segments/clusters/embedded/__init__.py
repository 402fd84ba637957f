"""The embedded cluster: its state is in ZooKeeper, so a change is one conditional transaction there."""

from __future__ import annotations

from segments.clusters.embedded.engine import EMBEDDED

__all__ = ["EMBEDDED"]
