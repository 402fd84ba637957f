"""A database that does not answer: one line in the log when that is noticed and one when it is over, however many
threads of this process try meanwhile.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from django.db import close_old_connections, connection

log = logging.getLogger(__name__)


class Outage:
    """``probe`` raises what the database raises; ``seconds`` is a clock."""

    def __init__(self, probe: Callable[[], None] | None = None, seconds: Callable[[], float] = time.monotonic) -> None:
        self._probe, self._seconds = probe or _ask, seconds
        self._lock, self._since = threading.Lock(), -1.0

    def note(self, error: Exception) -> None:
        """The database did not answer."""
        with self._lock:
            if self._since < 0:
                self._since = self._seconds()
                log.warning("The database does not answer, and the mirror waits for it: %s", str(error).strip())

    def before_use(self) -> None:
        """To be called before the database is used: connections that are of no use any more are closed, and ``check``
        passes.
        """
        close_old_connections()
        self.check()

    def check(self) -> None:
        """While the database did not answer last, it is asked: raises what it raises, or notes that it is over."""
        if self._since < 0:
            return
        self._probe()
        with self._lock:
            if self._since >= 0:
                log.warning("The database answers again after %.0f s.", self._seconds() - self._since)
                self._since = -1.0


def _ask() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


#: Of this process.
database_outage = Outage()
