"""Rebalance, on the embedded cluster."""

from __future__ import annotations

from segments.clusters.embedded.rebalance import jobs, keeping


class EmbeddedRebalanceEngine:
    """``segments.services.engine.rebalance.RebalanceEngine`` on the embedded cluster."""

    preview = staticmethod(jobs.preview)
    start = staticmethod(jobs.start)
    status = staticmethod(jobs.status)
    newest = staticmethod(jobs.newest)
    stop = staticmethod(jobs.stop)
    keep = staticmethod(keeping.keep)
