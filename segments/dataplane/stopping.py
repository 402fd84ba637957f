"""Stops running queries: whatever a process does for one ends within a moment.

A query's stop is handed down explicitly between threads; the thread that runs a statement has it as its ``current``
one, which the query engine's watch follows (``segments.dataplane.query.time_limit``).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from segments.expressions.query_errors import QUERY_CANCELLED, QueryRejected

#: Ids that were stopped before their query came, which a server remembers.
_MOST_EARLY: Final = 1000


class Stop:
    """One query's. Safe to use from several threads."""

    def __init__(self, query: str = "") -> None:
        self.query = query
        self._lock = threading.Lock()
        self._is_set = False
        self._calls: dict[int, Callable[[], None]] = {}
        self._given = 0

    @property
    def is_set(self) -> bool:
        """Was the query stopped?"""
        return self._is_set

    def set(self) -> None:
        """Stop it. What was registered with ``calling`` runs on this thread."""
        with self._lock:
            calls = [] if self._is_set else list(self._calls.values())
            self._is_set = True
        for call in calls:
            call()

    def check(self) -> None:
        """Raises QueryRejected (503) once it is stopped."""
        if self._is_set:
            raise QueryRejected(
                "The query was cancelled.", error_code=QUERY_CANCELLED, remedy="Run it again if you still need it."
            )

    @contextmanager
    def calling(self, call: Callable[[], None]) -> Iterator[None]:
        """``call`` runs if it is stopped inside. Raises QueryRejected (503) when it was stopped before."""
        with self._lock:
            self._given += 1
            number = self._given
            self._calls[number] = call
        try:
            self.check()
            yield
        finally:
            with self._lock:
                del self._calls[number]


#: For what nobody can stop.
_NEVER: Final = Stop()
_current: ContextVar[Stop] = ContextVar("stop_of_query", default=_NEVER)


def current() -> Stop:
    """The stop of what this thread runs."""
    return _current.get()


@contextmanager
def stoppable(stop: Stop) -> Iterator[None]:
    """What this thread runs inside can be stopped by it."""
    token = _current.set(stop)
    try:
        yield
    finally:
        _current.reset(token)


class ServerStops:
    """Queries that run on one server, by their id: a query may have several parts there, of several tables."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, list[Stop]] = {}
        self._early: OrderedDict[str, None] = OrderedDict()

    @contextmanager
    def part(self, query: str) -> Iterator[Stop]:
        """A part of this query runs inside; it is stopped at once when its stop came first."""
        stop = Stop(query)
        with self._lock:
            self._running.setdefault(query, []).append(stop)
            is_early = query in self._early
        if is_early:
            stop.set()
        try:
            with stoppable(stop):
                yield stop
        finally:
            with self._lock:
                self._running[query].remove(stop)
                if not self._running[query]:
                    del self._running[query]

    def stop(self, query: str) -> int:
        """Stop the parts of this query, and those that are still to come; how many run."""
        with self._lock:
            self._early[query] = None
            while len(self._early) > _MOST_EARLY:
                self._early.popitem(last=False)
            stops = list(self._running.get(query, ()))
        for stop in stops:
            stop.set()
        return len(stops)
