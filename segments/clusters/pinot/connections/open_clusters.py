"""The connections of this process to all Pinot clusters: opened when first used, and again when a row was changed."""

from __future__ import annotations

import threading
from collections.abc import Callable

from segments.clusters.pinot.connections.cluster_context import PinotClusterContext
from segments.errors import NotFound
from segments.models import Cluster
from segments.services.clusters.installation import Installation
from segments.services.core.context import Context


class OpenClusters:
    """By name of the cluster; safe for threads."""

    def __init__(self, installation: Callable[[], Installation]) -> None:
        self._installation = installation
        self._parts: dict[str, PinotClusterContext] = {}
        self._lock = threading.RLock()

    def context(self, name: str) -> Context:
        """What use cases work with, as the cluster's row is now, whichever process changed it. NotFound without a row.

        Never waits for a Pinot.
        """
        row = Cluster.objects.filter(name=name, kind=Cluster.Kind.PINOT).first()
        with self._lock:
            parts = self._parts.get(name)
            if parts is not None and (row is None or not parts.fits(row)):
                self._parts.pop(name).close()
                parts = None
            if row is None:
                raise NotFound(f"Cluster '{name}' does not exist.", remedy=self._known())
            if parts is None:
                parts = self._parts[name] = PinotClusterContext(row, self._installation())
            return parts.context

    def close(self) -> None:
        """End all connections."""
        with self._lock:
            while self._parts:
                self._parts.popitem()[1].close()

    def _known(self) -> str:
        others = Cluster.objects.filter(kind=Cluster.Kind.PINOT).order_by("name").values_list("name", flat=True)
        own = self._installation().own_name
        return f"This installation drives {', '.join(repr(n) for n in (own, *(n for n in others if n != own)))}."
