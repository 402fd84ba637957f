"""A database that does not answer: one line in the log when that is noticed and one when it is over, however many
threads of this process, and processes that it forks, try meanwhile.
"""

from __future__ import annotations

import logging
import multiprocessing
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.sharedctypes import RawValue
from types import SimpleNamespace
from typing import Any, Final

from django.db import Error, close_old_connections, connection
from django.utils import timezone

from segments.services.core.database_faults import UNREACHABLE

log = logging.getLogger(__name__)
#: Seconds to wait for others that write a line at this moment; one that was killed meanwhile never ends.
_TURN_S: Final = 1.0
#: Says on its own, without an exception, that it tries again.
_TALKATIVE: Final = "django_celery_beat"


class Outage:
    """``probe`` raises what the database raises; ``seconds`` is a clock that all processes share."""

    def __init__(self, probe: Callable[[], None] | None = None, seconds: Callable[[], float] | None = None) -> None:
        self._probe, self._seconds = probe or _ask, seconds or _now_s
        self._lock: Any = threading.Lock()
        self._since: Any = SimpleNamespace(value=-1.0)

    def share(self) -> None:
        """To be called before processes are forked: what one of them notices, the others know."""
        self._lock, self._since = multiprocessing.Lock(), RawValue("d", -1.0)

    @property
    def is_on(self) -> bool:
        """Did the database not answer last?"""
        return bool(self._since.value >= 0)

    def note(self, error: BaseException) -> None:
        """The database did not answer."""
        if self._turns(on=True):
            log.warning("The database does not answer, and what needs it waits: %s", str(error).strip())

    def before_use(self) -> None:
        """To be called before the database is used: connections that are of no use any more are closed, and ``check``
        passes.
        """
        close_old_connections()
        self.check()

    def check(self) -> None:
        """While the database did not answer last, it is asked: raises what it raises, or notes that it is over."""
        if not self.is_on:
            return
        self._probe()
        since = self._since.value
        if self._turns(on=False):
            log.warning("The database answers again after %.0f s.", self._seconds() - since)

    def watch(self, pause_s: float, over: Callable[[], bool] = lambda: False) -> None:
        """Check again and again, until ``over``: for a process that may have nothing else to ask the database for."""
        never = threading.Event()
        while not over():
            never.wait(pause_s)
            with suppress(Error):
                self.before_use()

    def explains(self, error: BaseException) -> bool:
        """Is it because the database does not answer? Then that is noted. One that answers had another reason: too many
        writers, say.
        """
        if not isinstance(error, UNREACHABLE):
            return False
        if not self.is_on:
            close_old_connections()
            try:
                self._probe()
            except UNREACHABLE as found:
                self.note(found)
            except Error:  # a transaction that is over already
                return False
        return self.is_on

    def _turns(self, *, on: bool) -> bool:
        """Is it this caller who changes that?"""
        if self.is_on == on:
            return False
        got = self._lock.acquire(timeout=_TURN_S)
        try:
            if self.is_on == on:
                return False
            self._since.value = self._seconds() if on else -1.0
            return True
        finally:
            if got:
                self._lock.release()


def _now_s() -> float:
    return timezone.now().timestamp()


def _ask() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


#: Of this process.
database_outage: Final = Outage()


class OutageOnce(logging.Filter):
    """For processes that call ``database_outage.check`` again and again: leaves out what fails while the database does
    not answer, for that reason.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Is it to be written?"""
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if error is not None:
            return not database_outage.explains(error)
        return not (database_outage.is_on and record.name.startswith(_TALKATIVE))


#: Of all handlers of this process.
once: Final = OutageOnce()
