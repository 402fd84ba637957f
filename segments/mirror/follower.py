"""Follow one cluster: watches mark tables and segments dirty, one thread reads what is dirty and writes the rows."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable

from django.db import close_old_connections

from segments.domain import lineage as lineages
from segments.domain import schema, segment_metadata, table_config
from segments.domain.pause import is_disabled, pause_of
from segments.domain.znrecord import ZNRecord
from segments.errors import PinotAdminError
from segments.mirror import database
from segments.mirror.rows import TableState, recompute
from segments.models import Cluster
from segments.names import REALTIME, TABLE_TYPES, split_table_name
from segments.store import paths
from segments.store.base import Store, Watch

log = logging.getLogger(__name__)

_PREFIXES = (paths.TABLE_CONFIGS, paths.SCHEMAS, paths.SEGMENTS, paths.LINEAGE, paths.IDEAL_STATES, paths.EXTERNAL_VIEWS)
#: Seconds in which further changes join a write; and between two looks at everything, watches or not.
_GATHER_S = 0.15
_SWEEP_S = 300.0


class Follower:
    """The mirror of one cluster. ``run`` blocks until ``stop``; ``on_synced`` is called after the first full sync."""

    def __init__(self, store: Store, cluster: Cluster, on_synced: Callable[[], None] = lambda: None) -> None:
        self._store, self._cluster, self._on_synced = store, cluster, on_synced
        self._tables: dict[str, TableState] = {}
        self._written: dict[str, database.Written] = {}
        self._lock = threading.Condition()
        self._dirty: dict[str, set[str]] = defaultdict(set)
        self._everything = True
        self._stopped = False
        self._watches: list[Watch] = []

    def run(self) -> None:
        """Follow until stopped; what can not be read or written now is tried again."""
        self._watches = [self._store.watch(p, self._changed) for p in _PREFIXES]
        synced = False
        while not self._stopped:
            everything, dirty = self._next(wait=synced)
            try:
                close_old_connections()
                self.sync_all() if everything else self._sync_dirty(dirty)
                if everything and not synced:
                    synced = True
                    self._on_synced()
            except Exception:
                log.exception("The mirror could not follow; looking at everything again.")
                self._tables.clear()
                self._written.clear()
                with self._lock:
                    self._everything = True
                    self._lock.wait(1.0)

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
                self._everything = True
            else:
                self._mark(path)
            self._lock.notify_all()

    def _mark(self, path: str) -> None:
        """A segment's record makes that segment dirty, everything else its table."""
        for prefix in _PREFIXES:
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
        except PinotAdminError as error:
            log.error("Table %s can not be mirrored: %s", name, error)
            return
        if state is None:
            self._forget(name)
            return
        before = self._tables.get(name)
        if before is None:
            state.segments = database.load_segments(self._cluster, name)
            dirty = set(state.ideal) | set(state.segments)
            self._read_segments(state, set(state.ideal))
        else:
            state.segments, state.records = before.segments, before.records
            self._read_segments(state, set(state.ideal) if segments is None else segments | (set(state.ideal) - set(state.records)))
            dirty = _differing(before, state) | (set(state.ideal) if segments is None else segments)
        changes = recompute(state, dirty)
        if name not in self._written:
            self._written[name] = database.load(self._cluster, state)
        database.write_table(self._written[name], state, changes)
        self._tables[name] = state

    def _forget(self, name: str) -> None:
        self._tables.pop(name, None)
        self._written.pop(name, None)
        database.delete_table(self._cluster, name)

    def _read_table(self, name: str) -> TableState | None:
        raw, _ = split_table_name(name)
        wanted = [paths.table_config(name), paths.schema(raw), paths.ideal_state(name), paths.external_view(name), paths.lineage(name)]
        config, schema_, ideal, view, lineage = (n.record if n else None for n in self._store.get_many(wanted))
        if config is None:
            return None
        parsed = table_config.from_record(config)
        return TableState(
            name=name,
            config=parsed.body,
            schema=schema.from_record(schema_).body if schema_ else {},
            replication=parsed.replication,
            ingestion_type=parsed.ingestion_type,
            ideal=_rows(ideal),
            pause=pause_of(ideal).to_json() if ideal and parsed.table.type == REALTIME else {},
            is_disabled=bool(ideal and is_disabled(ideal)),
            view=_rows(view),
            lineage=lineages.from_record(lineage) if lineage else lineages.empty(name),
        )

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
    names = {s for s in set(before.ideal) | set(now.ideal) if before.ideal.get(s) != now.ideal.get(s)}
    names |= {s for s in set(before.view) | set(now.view) if before.view.get(s) != now.view.get(s)}
    return names | (before.lineage.hidden() ^ now.lineage.hidden())
