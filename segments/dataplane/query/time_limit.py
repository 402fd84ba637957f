"""Ends what the query engine still does when its query's time is over: nobody waits for it any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

_INTERVAL_S: Final = 0.1
_LOCAL: Final = threading.local()


class _Watch:
    """Watches the running statements of this process from a thread of its own, which ends when none is left."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[int, tuple[Any, float]] = {}
        self._is_watching = False

    def begin(self, cursor: Any, until: float) -> None:
        with self._lock:
            self._running[id(cursor)] = cursor, until
            if not self._is_watching:
                self._is_watching = True
                threading.Thread(target=self._watch, name="query-time-limit", daemon=True).start()

    def end(self, cursor: Any) -> bool:
        """Was it ended for taking too long?"""
        with self._lock:
            return self._running.pop(id(cursor), None) is None

    def _watch(self) -> None:
        idle = 0
        while True:
            time.sleep(_INTERVAL_S)
            with self._lock:
                idle = 0 if self._running else idle + 1
                if idle > 100:
                    self._is_watching = False
                    return
                now = time.monotonic()
                for key, (cursor, until) in list(self._running.items()):
                    if until <= now:
                        del self._running[key]
                        cursor.interrupt()


_watch = _Watch()


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Statements of this thread inside are ended after so many seconds in all."""
    before = getattr(_LOCAL, "until", None)
    _LOCAL.until = time.monotonic() + seconds
    try:
        yield
    finally:
        _LOCAL.until = before


def begin(cursor: Any) -> bool:
    """A statement starts on this cursor; False when no limit holds for this thread."""
    until: float | None = getattr(_LOCAL, "until", None)
    if until is None:
        return False
    _watch.begin(cursor, until)
    return True


def end(cursor: Any) -> bool:
    """It has ended; was it for taking too long?"""
    return _watch.end(cursor)
