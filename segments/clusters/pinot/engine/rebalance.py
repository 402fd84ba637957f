"""Rebalance, on a real Pinot."""

from __future__ import annotations

from segments.clusters.pinot import rebalance


class PinotRebalanceEngine:
    """``segments.services.engine.rebalance.RebalanceEngine`` on a real Pinot."""

    preview = staticmethod(rebalance.preview)
    start = staticmethod(rebalance.start)
    status = staticmethod(rebalance.status)
    newest = staticmethod(rebalance.newest)
    stop = staticmethod(rebalance.stop)
    keep = staticmethod(rebalance.keep)
