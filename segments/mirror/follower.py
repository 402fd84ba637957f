"""Follow one cluster: watches mark tables and segments dirty, one thread reads what is dirty and writes the rows."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from django.db import close_old_connections

from segments.domain import lineage as lineages
from segments.domain import segment_metadata
from segments.domain.pause import is_disabled, pause_of
from segments.domain.znrecord import ZNRecord
from segments.errors import PinotAdminError, Unavailable
from segments.mirror import database
from segments.mirror.documents import read_config, read_schema
from segments.mirror.rows import Rows, TableState, recompute
from segments.models import Cluster
from segments.names import REALTIME, TABLE_TYPES, split_table_name
from segments.store import paths
from segments.store.base import Store, Watch

log = logging.getLogger(__name__)

_PREFIXES = (paths.TABLE_CONFIGS, paths.SCHEMAS, paths.SEGMENTS, paths.LINEAGE, paths.IDEAL_STATES, paths.EXTERNAL_VIEWS)
#: Seconds in which further changes join a write; and between two looks at everything, watches or not.
_GATHER_S = 0.15
_SWEEP_S = 300.0
#: Seconds between two tries while the cluster is away: the first pause and the longest.
_PAUSES_S = (1.0, 30.0)
#: Where reading all records of a table is a long answer of its controller, larger tables' are read again after so many seconds only.
_LARGE, _REREAD_S = 1_000, 3_600.0


class Follower:
    """The mirror of one cluster. ``run`` blocks until ``stop``; ``on_synced`` is called after the first full sync, ``report`` after every
    try, with what is wrong or an empty text."""

    def __init__(
        self,
        store: Store,
        cluster: Cluster,
        on_synced: Callable[[], None] = lambda: None,
        report: Callable[[str], None] = lambda error: None,
    ) -> None:
        self._store, self._cluster, self._on_synced, self._report = store, cluster, on_synced, report
        self._is_pinot = cluster.is_pinot
        self._is_costly = bool(getattr(store, "is_costly", False))
        self._prefixes = (*_PREFIXES, paths.ENTRY_NOTES) if self._is_pinot else _PREFIXES
        self._unreadable: dict[str, str] = {}
        self._read_at: dict[str, float] = {}
        self._tables: dict[str, TableState] = {}
        self._written: dict[str, database.Written] = {}
        self._lock = threading.Condition()
        self._dirty: dict[str, set[str]] = defaultdict(set)
        self._everything = True
        self._doubts = 0
        self._stopped = False
        self._watches: list[Watch] = []

    def run(self) -> None:
        """Follow until stopped; what can not be read or written now is tried again."""
        self._watches = [self._store.watch(p, self._changed) for p in self._prefixes]
        self._await_first_calls()
        synced, pause = False, _PAUSES_S[0]
        while not self._stopped:
            everything, dirty = self._next(wait=synced)
            try:
                close_old_connections()
                self.sync_all() if everything else self._sync_dirty(dirty)
                if everything and not synced:
                    synced = True
                    self._on_synced()
                self._report(next(iter(self._unreadable.values()), ""))
                pause = _PAUSES_S[0]
            except Unavailable as error:
                log.warning("The mirror of %s waits: %s", self._cluster, error)
                self._report(str(error))
                self._again(pause, everything, dirty)
                pause = min(pause * 2, _PAUSES_S[1])
            except Exception as error:
                log.exception("The mirror of %s could not follow; looking at everything again.", self._cluster)
                self._report(f"{type(error).__name__}; see the mirror's log.")
                self._tables.clear()
                self._written.clear()
                self._again(_PAUSES_S[0], True, {})

    def _await_first_calls(self) -> None:
        """Each watch calls once with None right away; if these came later everything would be read twice."""
        with self._lock:
            self._lock.wait_for(lambda: self._doubts >= len(self._prefixes) or self._stopped, _GATHER_S * 10)

    def _again(self, pause: float, everything: bool, dirty: dict[str, set[str]]) -> None:
        """Do the same work after a pause, or when anything changes."""
        with self._lock:
            self._everything = self._everything or everything
            for name, segments in dirty.items():
                self._dirty[name].update(segments)
            self._lock.wait(pause)

    def stop(self) -> None:
        """Make ``run`` return."""
        with self._lock:
            self._stopped = True
            self._lock.notify_all()
        for watch in self._watches:
            watch.close()

    def sync_all(self) -> None:
        """Look at every table."""
        tables = set(self._store.children(paths.TABLE_CONFIGS))
        for name in sorted(tables):
            self._sync_table(name, None)
        for name in (database.known_tables(self._cluster) | set(self._tables)) - tables:
            self._forget(name)

    def _changed(self, path: str | None) -> None:
        with self._lock:
            if path is None:
                self._doubts += 1
                self._everything = True
            else:
                self._mark(path)
            self._lock.notify_all()

    def _mark(self, path: str) -> None:
        """A segment's record makes that segment dirty, everything else its table."""
        for prefix in self._prefixes:
            if not path.startswith(prefix + "/"):
                continue
            table, _, segment = path[len(prefix) + 1 :].partition("/")
            tables = [f"{table}_{kind}" for kind in TABLE_TYPES] if prefix == paths.SCHEMAS else [table]
            for name in tables:
                if split_table_name(name)[1]:
                    self._dirty[name].update({segment} if segment else ())

    def _next(self, *, wait: bool) -> tuple[bool, dict[str, set[str]]]:
        with self._lock:
            if wait and not (self._everything or self._dirty or self._stopped) and not self._lock.wait(_SWEEP_S):
                self._everything = True
            if not self._everything and not self._stopped:
                self._lock.wait_for(lambda: self._stopped, _GATHER_S)
            everything, dirty = self._everything, dict(self._dirty)
            self._everything, self._dirty = False, defaultdict(set)
            return everything, dirty

    def _sync_dirty(self, dirty: dict[str, set[str]]) -> None:
        for name, segments in dirty.items():
            self._sync_table(name, segments if name in self._tables else None)

    def _sync_table(self, name: str, segments: set[str] | None) -> None:
        """Bring one table up to date; ``segments`` None: all of them, else those whose record changed."""
        try:
            state = self._read_table(name)
        except Unavailable:
            raise
        except PinotAdminError as error:
            log.error("Table %s can not be mirrored: %s", name, error)
            self._unreadable[name] = f"Table {name} can not be mirrored: {error}"
            return
        self._unreadable.pop(name, None)
        if state is None:
            self._forget(name)
            return
        before = self._tables.get(name)
        if before is None:
            state.segments = database.load_segments(self._cluster, name)
            dirty = set(state.ideal) | set(state.segments)
            self._read_segments(state, set(state.ideal))
            self._read_at[name] = time.monotonic()
        else:
            state.segments, state.records = before.segments, before.records
            self._read_segments(state, self._to_read(before, state, segments))
            dirty = _differing(before, state) | (set(state.ideal) if segments is None else segments)
        changes = recompute(state, dirty)
        if name not in self._written:
            self._written[name] = database.load(self._cluster, state)
        database.write_table(self._written[name], state, changes)
        self._tables[name] = state

    def _to_read(self, before: TableState, state: TableState, segments: set[str] | None) -> set[str]:
        """Segments whose record is to be read again: all of them, or those that changed, are new or have none yet."""
        is_all = segments is None and not self._is_costly
        if segments is None and self._is_costly:
            age = time.monotonic() - self._read_at.get(state.name, 0.0)
            is_all = len(state.ideal) <= _LARGE or age > _REREAD_S
        if is_all:
            self._read_at[state.name] = time.monotonic()
            return set(state.ideal)
        wanted = (segments or set()) | (set(state.ideal) - set(state.records))
        if self._is_pinot:  # not every way of watching one tells of records that were written in place, as a commit does
            wanted |= _differing_rows(before.ideal, state.ideal) & state.ideal.keys()
        return wanted

    def _forget(self, name: str) -> None:
        self._unreadable.pop(name, None)
        self._read_at.pop(name, None)
        self._tables.pop(name, None)
        self._written.pop(name, None)
        database.delete_table(self._cluster, name)

    def _read_table(self, name: str) -> TableState | None:
        raw, _ = split_table_name(name)
        wanted = [paths.table_config(name), paths.schema(raw), paths.ideal_state(name), paths.external_view(name), paths.lineage(name)]
        if self._is_pinot:
            wanted.append(paths.entry_notes(name))
        config, schema_, ideal, view, lineage, *notes = (n.record if n else None for n in self._store.get_many(wanted))
        if config is None:
            return None
        body, parsed = read_config(config, is_foreign=self._is_pinot)
        if schema_ is None and self._is_pinot:
            schema_ = self._schema_named_otherwise(body)
        entries = lineages.from_record(lineage) if lineage else lineages.empty(name)
        return TableState(
            name=name,
            config=body,
            schema=read_schema(schema_, is_foreign=self._is_pinot) if schema_ else {},
            replication=parsed.replication if parsed else 1,
            ingestion_type=parsed.ingestion_type if parsed else "APPEND",
            ideal=_rows(ideal),
            pause=pause_of(ideal).to_json() if ideal and split_table_name(name)[1] == REALTIME else {},
            is_disabled=bool(ideal and is_disabled(ideal)),
            view=_rows(view),
            lineage=lineages.with_notes(entries, notes[0]) if notes else entries,
        )

    def _schema_named_otherwise(self, config: Mapping[str, Any]) -> ZNRecord | None:
        """Before 1.3 a table could name a schema that is not called as the table is."""
        named = (config.get("segmentsConfig") or {}).get("schemaName")
        node = self._store.get(paths.schema(named)) if isinstance(named, str) and named and "/" not in named else None
        return node.record if node else None

    def _read_segments(self, state: TableState, names: set[str]) -> None:
        listed = sorted(names)
        nodes = self._store.get_many([paths.segment(state.name, s) for s in listed])
        for name, node in zip(listed, nodes, strict=True):
            if node and node.record:
                state.records[name] = segment_metadata.from_record(node.record)
            else:
                state.records.pop(name, None)


def _rows(record: ZNRecord | None) -> dict[str, dict[str, str]]:
    return record.maps if record else {}


def _differing(before: TableState, now: TableState) -> set[str]:
    """Segments whose rows of ideal state or external view changed, or that lineage hides or shows anew."""
    names = _differing_rows(before.ideal, now.ideal) | _differing_rows(before.view, now.view)
    return names | (before.lineage.hidden() ^ now.lineage.hidden())


def _differing_rows(before: Rows, now: Rows) -> set[str]:
    """A record that was not written again is the very same object (large records are decoded once)."""
    if before is now:
        return set()
    return {s for s, row in now.items() if before.get(s) != row} | (before.keys() - now.keys())
