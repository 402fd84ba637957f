"""Follow the file ingestion sessions of one cluster: a watch marks tables dirty, one thread reads their sessions and
writes the rows.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Final, Protocol

from django.db import Error as DatabaseError
from django.db import connections

from segments.domain.ingestion.session import FileRecord, IngestionSession
from segments.errors import PinotAdminError
from segments.mirror.ingestion import database
from segments.mirror.ingestion.database import Written
from segments.mirror.ingestion.rows import session_rows
from segments.models import Cluster, Table
from segments.services.core.database_faults import UNREACHABLE
from segments.services.core.database_outage import database_outage
from segments.store.base import Store, Watch

log = logging.getLogger(__name__)

#: Seconds in which changes gather; between two full checks, watches or not; before a failed table is tried again.
_GATHER_S: Final = 0.2
_SWEEP_S: Final = 300.0
_AGAIN_S: Final = 1.0


class SessionSource(Protocol):
    """Where sessions are read: their records, and the files in their manifests."""

    @property
    def store(self) -> Store:
        """Watched below ``prefix``."""

    @property
    def prefix(self) -> str:
        """Path of the parent of all tables' records; the name after it is a table's."""

    def tables(self) -> list[str]:
        """Typed names of tables that may have sessions."""

    def sessions(self, table: str) -> Sequence[IngestionSession]:
        """Those that are kept of a table."""

    def files(self, table: str, session: IngestionSession) -> Sequence[FileRecord]:
        """All files of a session."""


class SessionFollower:
    """The mirror of one cluster's sessions. ``run`` blocks until ``stop``; nothing ends it but that."""

    def __init__(self, source: SessionSource, cluster: Cluster) -> None:
        self._source, self._cluster = source, cluster
        self._lock = threading.Condition()
        self._dirty: set[str] = set()
        self._is_doubtful = True
        self._is_stopped = False
        self._written: dict[tuple[int, str], Written] = {}

    def run(self) -> None:
        """Follow until stopped; what cannot be read or written now is tried again."""
        watch = self._watch()
        try:
            while watch is not None and not self._is_stopped:
                tables = self._next()
                failed = {name for name in tables if not self._try(name)}
                self._again(failed)
        finally:
            if watch is not None:
                watch.close()
            connections.close_all()

    def stop(self) -> None:
        """Make ``run`` return."""
        with self._lock:
            self._is_stopped = True
            self._lock.notify_all()

    def sync_all(self) -> None:
        """Bring the rows of every table's sessions up to date, now."""
        for name in self._all_tables():
            self._sync(name)

    def _watch(self) -> Watch | None:
        """None when stopped before the store could be reached."""
        while not self._is_stopped:
            try:
                return self._source.store.watch(self._source.prefix, self._mark)
            except PinotAdminError as error:
                log.warning("File ingestion sessions of %s cannot be followed now: %s", self._cluster, error)
                self._again(set(), is_doubtful=True)
        return None

    def _mark(self, path: str | None) -> None:
        with self._lock:
            if path is None:
                self._is_doubtful = True
            elif path.startswith(self._source.prefix + "/"):
                self._dirty.add(path[len(self._source.prefix) + 1 :].partition("/")[0])
            self._lock.notify_all()

    def _next(self) -> set[str]:
        """Tables that are to be read now; waits until there are some, or for the next full check."""
        with self._lock:
            self._lock.wait_for(lambda: self._is_stopped or self._is_doubtful or self._dirty, _SWEEP_S)
            is_sweep = self._is_doubtful or not self._dirty
            self._lock.wait_for(lambda: self._is_stopped, _GATHER_S)
            tables, self._dirty, self._is_doubtful = self._dirty, set(), False
            if self._is_stopped:
                return set()
        return tables | self._tables_now() if is_sweep else tables

    def _tables_now(self) -> set[str]:
        try:
            database_outage.before_use()
            return self._all_tables()
        except UNREACHABLE as error:
            database_outage.note(error)
            self._again(set(), is_doubtful=True)
            return set()
        except (PinotAdminError, DatabaseError) as error:
            log.warning("File ingestion sessions of %s cannot be listed now: %s", self._cluster, error)
            self._again(set(), is_doubtful=True)
            return set()

    def _all_tables(self) -> set[str]:
        """Tables with records, and tables with rows, whose records may be gone."""
        with_rows = Table.objects.filter(cluster=self._cluster, ingestion_sessions__is_kept=True)
        return {*self._source.tables(), *with_rows.values_list("name", flat=True)}

    def _try(self, name: str) -> bool:
        try:
            database_outage.before_use()
            return self._sync(name)
        except UNREACHABLE as error:
            database_outage.note(error)
        except (PinotAdminError, DatabaseError) as error:
            log.warning("File ingestion sessions of %s cannot be mirrored now: %s", name, error)
        except Exception:
            log.exception("File ingestion sessions of %s could not be mirrored.", name)
            self._written.clear()
        return False

    def _again(self, tables: set[str], *, is_doubtful: bool = False) -> None:
        """Try these once more after a pause."""
        if tables or is_doubtful:
            with self._lock:
                self._dirty |= tables
                self._is_doubtful = self._is_doubtful or is_doubtful
                self._lock.wait_for(lambda: self._is_stopped, _AGAIN_S)

    def _sync(self, name: str) -> bool:
        """Bring the rows of one table's sessions up to date; False while the table has no row of its own."""
        sessions = self._source.sessions(name)
        table = database.find_table(self._cluster, name)
        if table is None:
            return not sessions
        for session in sorted(sessions, key=lambda s: (s.start_ms, s.id)):
            self._sync_session(table, session)
        kept = {session.id for session in sessions}
        for key in [k for k in self._written if k[0] == table.pk and k[1] not in kept]:
            del self._written[key]
        database.keep_history(table, kept)
        return True

    def _sync_session(self, table: Table, session: IngestionSession) -> None:
        key = (table.pk, session.id)
        before = self._written.get(key) or database.load(table, session.id)
        is_as_known = before is not None and before.values.get("manifest_version") == session.manifest_version
        files = None if is_as_known else self._source.files(table.name, session)
        started = time.monotonic()
        self._written[key] = database.write_session(table, session_rows(session, files), before)
        if files is not None:
            log.debug("%d files of %s in %.2f s.", len(files), session.id, time.monotonic() - started)
