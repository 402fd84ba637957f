"""Refused access on the audit record: who requested what; a flood of refusals is counted, not written out."""

from __future__ import annotations

import logging
import threading
from typing import Any, Final

from segments.gateways.timer import TIMER, Timer
from segments.services.core import audit
from segments.services.core.context import Actor

log = logging.getLogger(__name__)

#: At most this many refusals are recorded per minute; the next one recorded counts those that were not.
PER_MINUTE: Final = 60


class Window:
    """Counts what happened in the present minute."""

    def __init__(self, timer: Timer = TIMER) -> None:
        self._timer = timer
        self._lock = threading.Lock()
        self._minute = -1
        self._count = 0
        self._dropped = 0

    def admit(self) -> int | None:
        """None when the minute is full, else how many were dropped since the last one admitted."""
        minute = int(self._timer.seconds() // 60)
        with self._lock:
            if minute != self._minute:
                self._minute, self._count = minute, 0
            self._count += 1
            if self._count > PER_MINUTE:
                self._dropped += 1
                return None
            dropped, self._dropped = self._dropped, 0
            return dropped


_window = Window()


def record_refusal(actor: Actor, target: str, **detail: Any) -> None:
    """Record that ``actor`` was refused access to the address ``target``. Never raises: a refusal stays a refusal."""
    dropped = _window.admit()
    if dropped is None:
        return
    try:
        more: dict[str, Any] = {"notRecordedBefore": dropped} if dropped else {}
        audit.record(actor, "access", target=target[:600], outcome="refused", **detail, **more)
    except Exception:
        log.exception("A refusal could not be recorded.")
