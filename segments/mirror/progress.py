"""How far a mirror is that reads everything for the first time, for pages to say: with a million segments it takes
minutes, in which they do not show all of them.
"""

from __future__ import annotations

import time
from typing import Final

from segments.models import Cluster

#: Seconds before the first note, and between two.
_QUIET_S: Final = 2.0
_EVERY_S: Final = 1.0


class FirstReading:
    """Of one cluster, from now on."""

    def __init__(self, cluster: Cluster) -> None:
        self._row = Cluster.objects.filter(pk=cluster.pk)
        self._due_at = time.monotonic() + _QUIET_S

    def note(self, done: int, tables: int) -> None:
        """So many of the tables are read."""
        if time.monotonic() >= self._due_at:
            self._due_at = time.monotonic() + _EVERY_S
            self._row.update(mirror_progress=f"{done} of {tables} tables")

    def end(self) -> None:
        """All of them."""
        self._row.exclude(mirror_progress="").update(mirror_progress="")
