"""The record of a reingestion that this server carries out: where it stands, for everybody, and whether it still is
wanted."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any, Final

from segments.domain.realtime.reingestion.job import Job, State
from segments.errors import PinotAdminError
from segments.store import paths
from segments.store.base import Store
from segments.store.records.reingestions import JOBS

log = logging.getLogger(__name__)

#: Seconds between two writes of how far reading is, and between two attempts to write how it ended.
_EVERY_S: Final = 0.5
_AGAIN_S: Final = 1.0


class NotWanted(Exception):
    """The job was cancelled, taken over by another server, or removed; or this server stops."""


class JobRecord:
    """One job's document in ZooKeeper. ``job`` is it as it was written or read last."""

    def __init__(self, store: Store, job: Job, stopping: threading.Event) -> None:
        self._store, self.job, self._stopping = store, job, stopping
        self._path = paths.reingestion(job.table, job.segment)
        self._due = 0.0

    def moved(self, **changes: Any) -> None:
        """Write the next step at once. NotWanted; Unavailable when ZooKeeper does not answer."""
        found = JOBS.change(self._store, self._path, lambda now: self._own(now).moved(_now_ms(), **changes))
        self.job = found or self.job

    def reached(self, **changes: Any) -> None:
        """Write how far reading is, every half second at most. NotWanted."""
        if self._stopping.is_set():
            raise NotWanted
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + _EVERY_S
        try:
            self.moved(**changes)
        except PinotAdminError as error:
            log.info("How far the reingestion of %s is, is written later: %s", self.job.segment, error)

    def ended(self, state: State, **changes: Any) -> None:
        """Write how it ended, however long ZooKeeper takes to answer; when this server stops, its next life does."""
        while not self._stopping.is_set():
            try:
                self.moved(state=state, **changes)
            except NotWanted:
                return
            except PinotAdminError as error:
                log.warning("The end of the reingestion of %s is written later: %s", self.job.segment, error)
                self._stopping.wait(_AGAIN_S)
            else:
                return

    def _own(self, found: Job | None) -> Job:
        if found is None or not found.is_active or (found.id, found.instance) != (self.job.id, self.job.instance):
            raise NotWanted
        return found


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
