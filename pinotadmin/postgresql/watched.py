"""Connections to PostgreSQL that notice a frozen server: its machine acknowledges what is sent, and nothing answers.

No timeout of TCP or of the server sees that. A server that stays silent for a second is asked on a connection of its
own whether it is alive. When it is, the statement may take its time; when not, whoever waits gets an OperationalError,
and so does everybody who asks, at once, until a thread of this process has reached it again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from typing import Any, Final, TypeVar

import psycopg

RV = TypeVar("RV")

#: Seconds of silence before the question, the time for its answer, and between two questions.
SILENCE_S: Final = 1.0
_ANSWER_S: Final = 2
_AGAIN_S: Final = 0.5


class Watch:
    """One server, as this process knows it: is it frozen? Safe between threads."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        """``parameters``: those of a connection to it."""
        self._parameters = {**parameters, "connect_timeout": _ANSWER_S}
        self._lock = threading.Lock()
        self._asked_s = float("-inf")
        self.is_frozen = False

    def still_answers(self) -> bool:
        """Ask, unless somebody did just now; one at a time asks, the others get the same answer."""
        with self._lock:
            if not self.is_frozen and time.monotonic() - self._asked_s >= SILENCE_S:
                self.is_frozen = not self._answers()
                self._asked_s = time.monotonic()
                if self.is_frozen:
                    threading.Thread(target=self._until_it_answers, name="database", daemon=True).start()
            return not self.is_frozen

    def check(self) -> None:
        """OperationalError while it is frozen."""
        if self.is_frozen:
            raise psycopg.OperationalError("the database is frozen: it takes connections and does not answer")

    def _answers(self) -> bool:
        """A refusal is an answer, too: whoever waits learns the rest from their own connection."""
        try:
            psycopg.connect(**self._parameters).close()
        except psycopg.errors.ConnectionTimeout:
            return False
        except psycopg.OperationalError:
            return True
        return True

    def _until_it_answers(self) -> None:
        while not self._answers():
            time.sleep(_AGAIN_S)
        self.is_frozen = False


_lock = threading.Lock()
_watches: dict[str, Watch] = {}


def watch_of(parameters: dict[str, Any]) -> Watch:
    """The one of this server."""
    names = ("host", "port", "dbname", "user", "service")
    key = "\0".join(str(parameters.get(name, "")) for name in names)
    with _lock:
        if key not in _watches:
            plain = {k: v for k, v in parameters.items() if isinstance(v, str | int)}
            _watches[key] = Watch(plain)
        return _watches[key]


class WatchedConnection(psycopg.Connection[Any]):
    """A connection whose waits end when the server is frozen; it is closed then."""

    watch: Watch | None = None

    @classmethod
    def connect(cls, conninfo: str = "", **more: Any) -> WatchedConnection:
        """As psycopg's. OperationalError at once while the server is known to be frozen."""
        watch = watch_of(more)
        watch.check()
        try:
            made = super().connect(conninfo, **more)
        except psycopg.errors.ConnectionTimeout:
            watch.still_answers()
            raise
        made.watch = watch
        return made

    def wait(self, gen: Generator[Any, Any, RV], *arguments: Any, **more: Any) -> RV:
        """As psycopg's, and an OperationalError when the server is frozen."""
        return super().wait(self._watched(gen), *arguments, **more)

    def _watched(self, gen: Generator[Any, Any, RV]) -> Generator[Any, Any, RV]:
        """The steps of ``gen``; psycopg comes back at least ten times a second."""
        try:
            wanted = next(gen)
            began = time.monotonic()
            while True:
                ready = yield wanted
                if ready:
                    began = time.monotonic()
                elif time.monotonic() - began >= SILENCE_S and self.watch is not None:
                    self._check(self.watch)
                    began = time.monotonic()
                wanted = gen.send(ready)
        except StopIteration as end:
            found: RV = end.value
            return found

    def _check(self, watch: Watch) -> None:
        if not watch.still_answers():
            self.close()
            watch.check()
            raise psycopg.OperationalError("the database was frozen while it was waited for")
