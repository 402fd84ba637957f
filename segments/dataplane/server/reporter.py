"""Reports what the server holds: CURRENTSTATES first (one writer), then the external view; changes that come together
go together.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import Final

from segments.dataplane.server.external_view import publish_view
from segments.dataplane.server.held.slots import Reported, Slots
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments.ideal_state import SEGMENT_CRC
from segments.errors import PinotAdminError
from segments.store import paths
from segments.store.base import Store
from segments.store.records.cluster_setup import SEGMENT_STATE_MODEL
from segments.store.update import update_record

log = logging.getLogger(__name__)

#: Seconds that a report waits for loads that are still running; without any it goes out at once.
_GATHER_S: Final = 0.02
#: Seconds before a report that failed is tried again.
_RETRY_S: Final = 0.3
#: Characters of an error message that go into ZooKeeper.
_INFO_LENGTH: Final = 300


class Reporter:
    """One thread that writes what was marked. ``mark`` never blocks."""

    def __init__(self, store: Store, instance: str, slots: Slots) -> None:
        self._store, self._instance, self._slots = store, instance, slots
        self._wake = threading.Condition()
        self._marked: dict[str, float] = {}
        self._busy = False
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=f"reporter-{instance}", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread; what is still marked is not written."""
        with self._wake:
            self._stopped = True
            self._wake.notify_all()
        self._thread.join(timeout=10.0)

    def mark(self, *tables: str) -> None:
        """These tables' states or views may have to be written."""
        now = time.monotonic()
        with self._wake:
            for table in tables:
                self._marked.setdefault(table, now)
            self._wake.notify_all()

    def settle(self, timeout_s: float) -> bool:
        """Wait until nothing is left to write; False when time is up first."""
        with self._wake:
            return self._wake.wait_for(lambda: not self._marked and not self._busy, timeout_s)

    def write_states(self, table: str) -> None:
        """CURRENTSTATES of one table in the present session; the znode goes with the last segment."""
        session = self._store.session_id()
        path = paths.current_state(self._instance, session, table)
        reported = self._slots.reported(table)
        if not reported:
            self._store.delete(path)
            return
        record = _current_state(table, session, reported)
        update_record(self._store, path, lambda _: record)

    def _run(self) -> None:
        while (table := self._next()) is not None:
            try:
                self.write_states(table)
                publish_view(self._store, table)
            except PinotAdminError as error:
                log.warning("States of %s could not be reported, trying again: %s", table, error)
                self._again(table)
            except Exception:
                log.exception("States of %s could not be reported, trying again", table)
                self._again(table)
            with self._wake:
                self._busy = False
                self._wake.notify_all()

    def _next(self) -> str | None:
        """The table that is due first; None at the end."""
        with self._wake:
            while not self._stopped:
                now = time.monotonic()
                due = {t: at + _GATHER_S if self._slots.has_loads(t) else at for t, at in self._marked.items()}
                ready = [t for t, at in due.items() if at <= now]
                if ready:
                    table = min(ready, key=lambda t: due[t])
                    del self._marked[table]
                    self._busy = True
                    return table
                self._wake.wait(min(due.values()) - now if due else None)
            return None

    def _again(self, table: str) -> None:
        with self._wake:
            self._marked.setdefault(table, time.monotonic() + _RETRY_S)


def _current_state(table: str, session: str, reported: Mapping[str, Reported]) -> ZNRecord:
    """The znode as Helix lays it out."""
    simple = {
        "SESSION_ID": session,
        "STATE_MODEL_DEF": SEGMENT_STATE_MODEL,
        "STATE_MODEL_FACTORY_NAME": "DEFAULT",
        "BUCKET_SIZE": "0",
        "BATCH_MESSAGE_MODE": "false",
    }
    return ZNRecord(table, simple, {name: _row(r) for name, r in sorted(reported.items())})


def _row(reported: Reported) -> dict[str, str]:
    row = {"CURRENT_STATE": reported.state}
    if reported.info:
        row["INFO"] = reported.info[:_INFO_LENGTH]
    if reported.crc is not None:
        row[SEGMENT_CRC] = str(reported.crc)
    return row
