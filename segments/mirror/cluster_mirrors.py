"""Keeps one mirror for each Pinot cluster: begins those that were added, ends those that were removed, both for those
that changed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final, Protocol

from django.db import Error as DatabaseError
from django.db import connections

from segments.mirror.pinot import PinotMirror
from segments.models import Cluster
from segments.services.clusters.cluster_spec import CONFIGURED
from segments.services.core.database_faults import UNREACHABLE
from segments.services.core.database_outage import database_outage

log = logging.getLogger(__name__)

_POLL_S: Final = 2.0


class Mirror(Protocol):
    """What is kept."""

    def start(self) -> None:
        """Begin."""

    def stop(self) -> None:
        """End."""


class ClusterMirrors:
    """The mirrors of all Pinot clusters; ``start`` returns at once. ``poll_s`` and ``make`` are there for tests."""

    def __init__(self, *, poll_s: float = _POLL_S, make: Callable[[str], Mirror] = PinotMirror) -> None:
        self._poll_s, self._make = poll_s, make
        self._running: dict[str, tuple[str, Mirror]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mirror-fleet", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End all mirrors."""
        self._stop.set()
        self._thread.join(timeout=30.0)

    def _run(self) -> None:
        while True:
            try:
                database_outage.before_use()
                self.compare()
            except UNREACHABLE as error:
                database_outage.note(error)
            except DatabaseError:
                log.exception("The clusters could not be listed; trying again.")
            if self._stop.wait(self._poll_s):
                break
        for _, mirror in self._running.values():
            mirror.stop()
        connections.close_all()

    def compare(self) -> None:
        """Make what runs what should run."""
        wanted = {row.name: _configured(row) for row in Cluster.objects.filter(kind=Cluster.Kind.PINOT)}
        for name, (configured, mirror) in list(self._running.items()):
            if wanted.get(name) != configured:
                log.info("Cluster %s is %s.", name, "changed" if name in wanted else "not mirrored any more")
                mirror.stop()
                del self._running[name]
        for name, configured in wanted.items():
            if name not in self._running:
                log.info("Cluster %s is mirrored.", name)
                mirror = self._make(name)
                self._running[name] = (configured, mirror)
                mirror.start()


def _configured(row: Cluster) -> str:
    return "|".join(str(getattr(row, name)) for name in CONFIGURED)
