"""Warnings about what may happen with every request: each kind is logged at once, and then not again for
some seconds.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

_PAUSE_S: Final = 10.0
_MOST: Final = 1000


class RateLimitedLog:
    """Warns to ``log``, of one ``key`` every ten seconds at most. Safe between threads."""

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log, self._clock = log, clock
        self._lock = threading.Lock()
        self._next: dict[str, float] = {}

    def warning(self, key: str, text: str, *arguments: object) -> None:
        """Log it, or leave it out."""
        now = self._clock()
        with self._lock:
            if now < self._next.get(key, now):
                return
            if len(self._next) >= _MOST:
                self._next.clear()
            self._next[key] = now + _PAUSE_S
        self._log.warning(text, *arguments)
