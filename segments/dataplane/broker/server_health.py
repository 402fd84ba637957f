"""Remembers which servers did not answer, so that only one query pays for a dead one (rule
`another-replica-at-once`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from segments.dataplane.broker.routing import ServerRef

#: Seconds until a server that was down is asked again whether it lives: doubling.
_FIRST_PROBE_S: Final = 0.5
_LONGEST_PROBE_S: Final = 30.0


@dataclass
class _Down:
    session: str
    probe_at: float
    pause_s: float
    is_probing: bool = False


class ServerHealth:
    """Marks by instance; a new session is a new life and clears the mark. ``now`` is a monotonic clock in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._down: dict[str, _Down] = {}

    def is_up(self, server: ServerRef) -> bool:
        """False while the server is marked down in this session."""
        with self._lock:
            found = self._down.get(server.instance)
            return found is None or found.session != server.session

    def mark_down(self, server: ServerRef) -> None:
        """It did not answer; the next probe comes later each time."""
        with self._lock:
            before = self._down.get(server.instance)
            again = before is not None and before.session == server.session
            pause = min(_LONGEST_PROBE_S, before.pause_s * 2) if before is not None and again else _FIRST_PROBE_S
            self._down[server.instance] = _Down(server.session, self._now() + pause, pause)

    def mark_up(self, server: ServerRef) -> None:
        """It answered."""
        if self._down:
            with self._lock:
                self._down.pop(server.instance, None)

    def take_probe(self, server: ServerRef) -> bool:
        """True for the one caller that should ask now whether the server lives again."""
        with self._lock:
            found = self._down.get(server.instance)
            if found is None or found.session != server.session or found.is_probing or self._now() < found.probe_at:
                return False
            found.is_probing = True
            return True
