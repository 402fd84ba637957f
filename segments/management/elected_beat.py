"""Celery beat of which several may run: one fires, and another one goes on within seconds when that one is gone."""

from __future__ import annotations

import logging
import time
from typing import Any, Final

from django.db import Error as DatabaseError
from django_celery_beat.schedulers import DatabaseScheduler

from segments import wiring
from segments.errors import PinotAdminError
from segments.services.core.database_outage import database_outage
from segments.store.records.elected import elected_here

log = logging.getLogger(__name__)

#: Seconds between two tries to have the role; also the longest sleep of the one that has it, which asks again then.
_AGAIN_S: Final = 1.0
#: Seconds between two notes of its work.
_NOTE_S: Final = 5.0


class ElectedScheduler(DatabaseScheduler):  # type: ignore[misc]  # ships no types
    """The schedules of the database, fired by the process that has the role ``beat``."""

    _is_elected = False
    _noted_s = -_NOTE_S

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Fire what is due, when it is this process that does so; seconds until this is asked again."""
        is_elected = self._ask()
        if is_elected and not self._is_elected:
            log.info("This beat fires the schedules now.")
            self._initial_read, self._heap = True, None  # others fired them meanwhile
        self._is_elected = is_elected
        if is_elected and time.monotonic() - self._noted_s >= _NOTE_S:
            self._noted_s = time.monotonic()
            wiring.worker_board().ticked(wiring.clock_ms())
        return self._fire(*args, **kwargs) if is_elected else _AGAIN_S

    def _fire(self, *args: Any, **kwargs: Any) -> float:
        """What was read last goes on while the database does not answer."""
        try:
            database_outage.before_use()
        except DatabaseError:
            if self._initial_read:
                return _AGAIN_S
        try:
            return min(float(super().tick(*args, **kwargs)), _AGAIN_S)
        except DatabaseError as error:
            self._initial_read = True
            if not database_outage.explains(error):
                raise
            return _AGAIN_S

    def _ask(self) -> bool:
        try:
            return elected_here(wiring.store(), "beat").is_mine()
        except PinotAdminError as error:
            log.warning("Nothing is fired until ZooKeeper answers: %s", error)
            return False
