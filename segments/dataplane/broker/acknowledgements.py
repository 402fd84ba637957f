"""Acknowledges to services which lineage this broker serves: an ephemeral znode per table, written after the routing
was published.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Conflict, OutcomeUnknown, PinotAdminError
from segments.store import paths
from segments.store.base import Store

log = logging.getLogger(__name__)

_RETRY_S = 0.2


@dataclass(frozen=True)
class Served:
    """Mzxids of the lineage and the ideal state that queries are answered from; 0: there is no such record."""

    lineage_zxid: int
    ideal_zxid: int


class Acknowledgements:
    """One thread that writes what was put, newest only, a changed lineage before a changed ideal state. ``put`` never
    blocks.
    """

    def __init__(self, store: Store, broker: str) -> None:
        self._store, self._broker = store, broker
        self._wake = threading.Condition()
        self._wanted: dict[str, Served | None] = {}
        self._written: dict[str, tuple[Served, int]] = {}
        self._session = ""
        self._is_stopped = False
        self._busy = False
        self._thread = threading.Thread(target=self._run, name=f"acks-{broker}", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread; the znodes go with the session."""
        with self._wake:
            self._is_stopped = True
            self._wake.notify_all()
        self._thread.join(timeout=10.0)

    def put(self, table: str, served: Served | None) -> None:
        """This is served now (None: the table is gone)."""
        with self._wake:
            self._wanted[table] = served
            self._wake.notify_all()

    def settle(self, timeout_s: float) -> bool:
        """Wait until everything is written; False when time is up first."""
        with self._wake:
            return self._wake.wait_for(lambda: not self._wanted and not self._busy, timeout_s)

    def remove_all(self) -> None:
        """Remove every acknowledgement of this broker, when it leaves in an orderly way."""
        for table in list(self._written):
            self._store.delete(paths.routing_ack(table, self._broker))
        self._written.clear()

    def _run(self) -> None:
        while (found := self._next()) is not None:
            table, served = found
            try:
                self._write(table, served)
            except (Conflict, OutcomeUnknown):
                self._again(table, served, 0.0)
            except PinotAdminError as error:
                log.warning("The routing of %s could not be acknowledged, trying again: %s", table, error)
                self._again(table, served, _RETRY_S)
            except Exception:
                log.exception("The routing of %s could not be acknowledged, trying again", table)
                self._again(table, served, _RETRY_S)
            with self._wake:
                self._busy = False
                self._wake.notify_all()

    def _next(self) -> tuple[str, Served | None] | None:
        with self._wake:
            self._wake.wait_for(lambda: self._wanted or self._is_stopped)
            if self._is_stopped:
                return None
            table = min(self._wanted, key=self._rank)
            self._busy = True
            return table, self._wanted.pop(table)

    def _rank(self, table: str) -> int:
        """Somebody may wait for a lineage; nobody waits for an ideal state."""
        served, known = self._wanted[table], self._written.get(table)
        return int(served is not None and known is not None and served.lineage_zxid == known[0].lineage_zxid)

    def _again(self, table: str, served: Served | None, pause_s: float) -> None:
        with self._wake:
            self._written.pop(table, None)
            self._wanted.setdefault(table, served)
            if pause_s:
                self._wake.wait_for(lambda: self._is_stopped, pause_s)

    def _write(self, table: str, served: Served | None) -> None:
        session = self._store.session_id()
        if session != self._session:
            self._session, self._written = session, {}
        path, known = paths.routing_ack(table, self._broker), self._written.get(table)
        if served is None:
            self._store.delete(path)
            self._written.pop(table, None)
        elif known is not None:
            if known[0] != served:
                self._written[table] = served, self._store.replace(path, self._record(served), known[1]).version
        else:
            # What lies there is of an older session and would vanish with it, under our feet.
            self._store.delete(path)
            self._written[table] = served, self._store.create(path, self._record(served), ephemeral=True).version

    def _record(self, served: Served) -> ZNRecord:
        return ZNRecord(self._broker, {"lineageZxid": str(served.lineage_zxid), "idealZxid": str(served.ideal_zxid)})
