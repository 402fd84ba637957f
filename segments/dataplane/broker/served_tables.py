"""The external view of ``brokerResource``: which tables this broker answers for, where Pinot's clients that know
ZooKeeper read it.

Pinot's Java client (``ConnectionFactory.fromZookeeper``) reads nothing else to find a broker.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import PinotAdminError
from segments.store import paths
from segments.store.base import Store, Versioned
from segments.store.records.instances import live_instances
from segments.store.update import update_record

log = logging.getLogger(__name__)

_ONLINE: Final = "ONLINE"
_RETRY_S: Final = 1.0
_PATH: Final = paths.external_view("brokerResource")


def with_broker(record: ZNRecord, broker: str, tables: Collection[str], live: Collection[str]) -> ZNRecord:
    """The view with ``broker`` at exactly these tables; brokers that are not alive, and tables without a broker, leave
    it.
    """
    names = set(record.maps) | set(tables)
    kept = {t: {b: s for b, s in record.maps.get(t, {}).items() if b in live and b != broker} for t in names}
    rows = {t: row | {broker: _ONLINE} if t in tables else row for t, row in kept.items()}
    return replace(record, maps={t: dict(sorted(row.items())) for t, row in sorted(rows.items()) if row})


class ServedTables:
    """One thread that writes what was put, newest only. ``put`` never blocks."""

    def __init__(self, store: Store, broker: str) -> None:
        self._store, self._broker = store, broker
        self._wake = threading.Condition()
        self._tables: frozenset[str] = frozenset()
        self._is_due = self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name=f"tables-{broker}", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def put(self, tables: Collection[str]) -> None:
        """These typed tables are answered now, and no others."""
        with self._wake:
            self._tables, self._is_due = frozenset(tables), True
            self._wake.notify_all()

    def stop(self) -> None:
        """End the thread and leave the view. Raises PinotAdminError when ZooKeeper does not answer."""
        with self._wake:
            self._is_stopped = True
            self._wake.notify_all()
        self._thread.join(timeout=10.0)
        self._write(frozenset())

    def _run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._is_due or self._is_stopped)
                if self._is_stopped:
                    return
                tables, self._is_due = self._tables, False
            try:
                self._write(tables)
            except PinotAdminError as error:
                log.warning("The tables of %s could not be written, trying again: %s", self._broker, error)
                self._again()
            except Exception:
                log.exception("The tables of %s could not be written, trying again", self._broker)
                self._again()

    def _again(self) -> None:
        with self._wake:
            self._wake.wait_for(lambda: self._is_stopped, _RETRY_S)
            self._is_due = True

    def _write(self, tables: Collection[str]) -> None:
        live = set(live_instances(self._store))

        def decide(node: Versioned | None) -> ZNRecord | None:
            before = node.record if node and node.record else ZNRecord("brokerResource")
            after = with_broker(before, self._broker, tables, live)
            return None if node is None and not after.maps else after

        update_record(self._store, _PATH, decide)
