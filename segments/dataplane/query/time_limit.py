"""Ends what the query engine still does when its query's time is over or it was cancelled: nobody waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import Any, Final

from segments.dataplane.stopping import Stop, current
from segments.expressions.query_errors import EXECUTION_TIMEOUT, QueryRejected

_INTERVAL_S: Final = 0.1
_LOCAL: Final = threading.local()


class Statement:
    """One that runs on ``cursor``. ``is_ended``: its watch interrupted it."""

    def __init__(self, cursor: Any, until: float, stop: Stop) -> None:
        self.cursor, self.until, self.stop = cursor, until, stop
        self.is_ended = False

    @property
    def is_due(self) -> bool:
        """Is it to be interrupted now?"""
        return self.stop.is_set or self.until <= time.monotonic()


class _Watch:
    """Watches the running statements of this process from a thread of its own, which ends when none is left."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[Statement] = set()
        self._is_watching = False

    def begin(self, statement: Statement) -> None:
        with self._lock:
            self._running.add(statement)
            if not self._is_watching:
                self._is_watching = True
                threading.Thread(target=self._watch, name="query-time-limit", daemon=True).start()

    def end(self, statement: Statement) -> None:
        with self._lock:
            self._running.discard(statement)

    def _watch(self) -> None:
        idle = 0
        while True:
            time.sleep(_INTERVAL_S)
            with self._lock:
                idle = 0 if self._running else idle + 1
                if idle > 100:
                    self._is_watching = False
                    return
                # Until it has ended: one that has not begun yet forgets an interruption when it begins.
                for statement in [s for s in self._running if s.is_due]:
                    statement.is_ended = True
                    statement.cursor.interrupt()


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


def begin(cursor: Any) -> Statement:
    """A statement starts on this cursor. Raises QueryRejected (503) when its query was cancelled."""
    stop = current()
    stop.check()
    until: float | None = getattr(_LOCAL, "until", None)
    statement = Statement(cursor, inf if until is None else until, stop)
    _watch.begin(statement)
    return statement


def end(statement: Statement) -> None:
    """It has ended; it is not interrupted from here on. May be said twice."""
    _watch.end(statement)


def check(statement: Statement) -> None:
    """Raises QueryRejected, (503) or (250), for one that has ended because it was interrupted."""
    end(statement)
    if statement.is_ended:
        statement.stop.check()
        raise QueryRejected(
            "The query took longer than its time.",
            error_code=EXECUTION_TIMEOUT,
            remedy="Ask for less, or raise timeoutMs.",
        )
