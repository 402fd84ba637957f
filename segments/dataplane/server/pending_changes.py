"""Collects what watches say has changed, until the reconcile loop takes it: coalescing, never blocking."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field


@dataclass
class Changes:
    """What to check: ``everything``, or these tables with the segments whose records changed; ``messages``: our
    queue; ``instances``: who is alive.
    """

    everything: bool = False
    messages: bool = False
    instances: bool = False
    tables: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def __bool__(self) -> bool:
        return self.everything or self.messages or self.instances or bool(self.tables)


class PendingChanges:
    """Marks set by watches, taken by one thread."""

    def __init__(self) -> None:
        self._wake = threading.Condition()
        self._changes = Changes()
        self._is_stopped = False

    @property
    def is_stopped(self) -> bool:
        """True after ``stop``."""
        return self._is_stopped

    def stop(self) -> None:
        """Wake the taker for good."""
        with self._wake:
            self._is_stopped = True
            self._wake.notify_all()

    def mark(
        self,
        table: str = "",
        segment: str = "",
        *,
        everything: bool = False,
        messages: bool = False,
        instances: bool = False,
    ) -> None:
        """Something changed."""
        with self._wake:
            changes = self._changes
            changes.everything |= everything
            changes.messages |= messages
            changes.instances |= instances
            if table:
                changes.tables[table].update({segment} if segment else ())
            self._wake.notify_all()

    def take(self, until: float) -> Changes:
        """What was marked; waits for a mark until this ``time.monotonic``. Empty when time is up or it was stopped."""
        with self._wake:
            while not self._changes and not self._is_stopped and (left := until - time.monotonic()) > 0:
                self._wake.wait(left)
            taken, self._changes = self._changes, Changes()
            return taken
