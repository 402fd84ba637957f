"""Keeps every table's routing: watches mark what changed, one thread reads it by the consistency rule, publishes,
acknowledges.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from segments.dataplane.broker.acknowledgements import Acknowledgements, Served
from segments.dataplane.broker.end_times import EndTimes
from segments.dataplane.broker.routing import (
    Hosting,
    Observed,
    Routing,
    ServerRef,
    build_routing,
    find_hosting,
    is_first_load,
    observe,
)
from segments.domain.realtime.commit.fields import END_OFFSET
from segments.domain.realtime.llc_name import is_llc_name
from segments.domain.segments.ideal_state import CONSUMING
from segments.errors import PinotAdminError
from segments.names import OFFLINE, REALTIME, TABLE_TYPES, split_table_name, typed_names
from segments.store import paths
from segments.store.base import Store, Watch
from segments.store.records.instances import instance_configs, live_instances

log = logging.getLogger(__name__)

_BY_TABLE: Final = (paths.LINEAGE, paths.IDEAL_STATES, paths.EXTERNAL_VIEWS, paths.TABLE_CONFIGS)
_OF_SERVERS: Final = (paths.LIVE_INSTANCES, paths.PARTICIPANT_CONFIGS)
#: Seconds between two full reads, watches or not; before a failed read is repeated; that a first load may
#: take.
_SWEEP_S: Final = 60.0
_RETRY_S: Final = 0.5
#: Seconds between the end of a read and the next one.
_SPACING_S: Final = 0.006
FIRST_LOAD_S: Final = 300.0
#: Seconds for which a segment that was consumed may be unknown to be served: longer than its servers' reports take.
_UNREPORTED_S: Final = 2.0


class LiveRouting:
    """The routings of all tables, replaced whole. ``routing`` may be called from any thread and never blocks."""

    def __init__(
        self, store: Store, acknowledgements: Acknowledgements, on_tables: Callable[[Collection[str]], None]
    ) -> None:
        self._store, self._acks, self._on_tables = store, acknowledgements, on_tables
        self._wake = threading.Condition()
        self._dirty: set[str] = set()
        self._everything = self._servers_changed = True
        self._is_stopped = False
        self._watches: list[Watch] = []
        self._servers: dict[str, ServerRef] = {}
        self._end_times = EndTimes(store)
        self._hosting: dict[str, Hosting] = {}
        self._served: dict[str, set[str]] = defaultdict(set)
        self._first_seen: dict[str, dict[str, float]] = defaultdict(dict)
        self._has_read_all = False
        self._failed: set[str] = set()
        self._unreported: set[str] = set()
        self._retry_at = self._read_at = 0.0
        self._published = threading.Condition()
        self._routings: Mapping[str, Routing] = {}
        self._thread = threading.Thread(target=self._run, name="routing", daemon=True)

    def watch(self) -> None:
        """Begin to note changes. Before the broker announces itself: nothing may slip through."""
        for prefix in (*_BY_TABLE, paths.SCHEMAS):
            self._watches.append(self._store.watch(prefix, lambda path, prefix=prefix: self._on_table(prefix, path)))  # type: ignore[misc]  # the default binds the loop's value
        self._watches.append(self._store.watch(paths.SEGMENTS, self._on_segment))
        for prefix in _OF_SERVERS:
            self._watches.append(self._store.watch(prefix, lambda _: self._mark(servers=True)))

    def start(self) -> None:
        """Begin to read and publish."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        for watch in self._watches:
            watch.close()
        with self._wake:
            self._is_stopped = True
            self._wake.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=10.0)

    def routing(self, table: str) -> Routing | None:
        """The routing that queries of this typed table get now; None when there is no such table."""
        return self._routings.get(table)

    def routings(self) -> Mapping[str, Routing]:
        """All of them, as of one moment."""
        return self._routings

    def wait_first(self, timeout_s: float) -> bool:
        """Wait until every table was read once."""
        with self._published:
            return self._published.wait_for(lambda: self._has_read_all, timeout_s)

    def wait_for(self, table: str, zxid: int, timeout_s: float) -> bool:
        """Wait until the table is served with a lineage at least as new as ``zxid``; False when time is up first."""

        def is_there() -> bool:
            routing = self._routings.get(table)
            return routing is not None and routing.lineage_zxid >= zxid

        with self._published:
            return self._published.wait_for(is_there, timeout_s)

    def wait_change(self, known: Sequence[Routing], timeout_s: float) -> bool:
        """Wait until one of these tables has another routing than the one given."""
        with self._published:
            return self._published.wait_for(
                lambda: any(self._routings.get(r.table.typed) is not r for r in known), timeout_s
            )

    def wait_known(self, name: str, timeout_s: float) -> bool:
        """Wait until a raw or typed table name has a routing; False when time is up first."""
        with self._published:
            return self._published.wait_for(
                lambda: any(table in self._routings for table in typed_names(name)), timeout_s
            )

    def acknowledge_all(self) -> None:
        """Have every acknowledgement written again, in the present session."""
        for table, routing in self._routings.items():
            self._acks.put(table, Served(routing.lineage_zxid, routing.ideal_zxid))

    # Watches: they only mark

    def _on_table(self, prefix: str, path: str | None) -> None:
        if path is None:
            self._mark(everything=True)
            return
        name = path[len(prefix) + 1 :]
        if prefix == paths.SCHEMAS:
            self._mark(*(f"{name}_{kind}" for kind in TABLE_TYPES))
        elif split_table_name(name)[1] is not None:
            self._mark(name)

    def _on_segment(self, path: str | None) -> None:
        table, _, segment = (path or "")[len(paths.SEGMENTS) + 1 :].partition("/")
        if self._end_times.mark_stale(table or None, segment):
            self._mark(*([table] if table else ()), everything=not table)

    def _mark(self, *tables: str, everything: bool = False, servers: bool = False) -> None:
        with self._wake:
            self._dirty.update(tables)
            self._everything |= everything
            self._servers_changed |= servers
            self._wake.notify_all()

    # The thread

    def _run(self) -> None:
        while not self._is_stopped:
            everything, servers, tables = self._take()
            try:
                if servers or everything:
                    everything |= self._read_servers()
                if everything:
                    listed = set(self._store.children(paths.IDEAL_STATES)) | set(self._routings)
                    tables |= {t for t in listed if split_table_name(t)[1] is not None}
                self._read_tables(tables)
                if everything and not self._has_read_all:
                    with self._published:
                        self._has_read_all = True
                        self._published.notify_all()
            except PinotAdminError as error:
                log.warning("Routing is read again in a moment: %s", error)
                self._later()
            except Exception:
                log.exception("Routing is read again in a moment")
                self._later()

    def _take(self) -> tuple[bool, bool, set[str]]:
        with self._wake:
            patience = max(0.0, self._retry_at - time.monotonic()) if self._failed else _SWEEP_S
            changed = self._wake.wait_for(
                lambda: self._dirty or self._everything or self._servers_changed or self._is_stopped, patience
            )
            due = self._failed if self._failed and time.monotonic() >= self._retry_at else set()
            # Many writers at once: what they change meanwhile is read together.
            self._wake.wait_for(lambda: self._is_stopped, self._read_at + _SPACING_S - time.monotonic())
            taken = self._everything or not (changed or self._failed), self._servers_changed, self._dirty | due
            self._everything, self._servers_changed, self._dirty = False, False, set()
            return taken

    def _later(self) -> None:
        with self._wake:
            self._wake.wait_for(lambda: self._is_stopped, _RETRY_S)
        self._mark(everything=True, servers=True)

    def _read_servers(self) -> bool:
        """Who lives and where it listens; True when that changed and every table has to be read again."""
        live = live_instances(self._store)
        configs = instance_configs(self._store)
        found = {
            name: ServerRef(name, instance.session, configs[name].admin_url, not configs[name].is_enabled)
            for name, instance in live.items()
            if name.startswith("Server_") and name in configs
        }
        has_changed, self._servers = found != self._servers, found
        return has_changed

    def _read_tables(self, tables: set[str]) -> None:
        failed = []
        for table in tables:
            try:
                self._read_table(table)
            except PinotAdminError as error:
                log.warning("Routing of %s stays as it was and is read again: %s", table, error)
                failed.append(table)
        with self._wake:
            self._read_at = time.monotonic()
            # Set aside and tried again later: a damaged record of one table must not slow the others down.
            self._failed = (self._failed - tables) | set(failed) | (self._unreported & tables)
            self._retry_at = time.monotonic() + _RETRY_S

    def _read_table(self, table: str) -> None:
        seen = observe(self._store, table, self._servers)
        if seen is None:
            self._served.pop(table, None)
            self._first_seen.pop(table, None)
            self._hosting.pop(table, None)
            self._unreported.discard(table)
            if self._publish(table, None):
                self._acks.put(table, None)
            return
        hosting = self._hosting[table] = find_hosting(seen, self._servers, self._hosting.get(table))
        routing = build_routing(seen, hosting, self._note_served(seen))
        is_new = table not in self._routings
        self._publish(table, self._with_end_time(routing))
        if is_new and routing.table.type == REALTIME:
            self._mark(f"{routing.table.raw}_{OFFLINE}")
        self._acks.put(table, Served(routing.lineage_zxid, routing.ideal_zxid))

    def _with_end_time(self, routing: Routing) -> Routing:
        """Only a hybrid table needs it; it changes together with what is visible, in one published routing."""
        is_hybrid = routing.table.type == OFFLINE and f"{routing.table.raw}_{REALTIME}" in self._routings
        return (
            replace(routing, end_time_ms=self._end_times.newest(routing.table.typed, routing.wanted))
            if is_hybrid
            else routing
        )

    def _publish(self, table: str, routing: Routing | None) -> bool:
        """Swap it in; False when nothing changed."""
        with self._published:
            if self._routings.get(table) == routing:
                return False
            known = len(self._routings)
            others = {t: r for t, r in self._routings.items() if t != table}
            self._routings = others if routing is None else {**others, table: routing}
            self._published.notify_all()
        if len(self._routings) != known:
            self._on_tables(self._routings.keys())
        return True

    def _note_served(self, seen: Observed) -> list[str]:
        """Remember what was served and what is new; returns the segments that are being loaded for the first time.

        What was there when this broker started counts as served before: it cannot know better.
        """
        served, first_seen, now = self._served[seen.table], self._first_seen[seen.table], time.monotonic()
        served &= set(seen.ideal)
        served.update(
            s for s, states in seen.view.items() if "ONLINE" in states.values() or "CONSUMING" in states.values()
        )
        if not self._has_read_all:
            served.update(seen.ideal)
        loading = [s for s in seen.ideal if is_first_load(seen, s, served)]
        self._first_seen[seen.table] = known = {s: first_seen.get(s, now) for s in loading}
        served |= (consumed := self._consumed_before(seen, {s: now - at for s, at in known.items()}))
        return [s for s in loading if s not in consumed and now - known[s] < FIRST_LOAD_S]

    def _consumed_before(self, seen: Observed, ages: Mapping[str, float]) -> set[str]:
        """Those of the new segments ({name: seconds since this broker saw it}) whose commit has started or ended: their
        rows were to be had before they were files, so nobody is loading them for the first time.
        """
        names = [s for s in ages if is_llc_name(s) and CONSUMING not in seen.ideal[s].values()]
        due = [s for s in names if ages[s] >= _UNREPORTED_S]
        # Nothing else than the time may change before they are due.
        (self._unreported.add if len(due) < len(names) else self._unreported.discard)(seen.table)
        nodes = self._store.get_many([paths.segment(seen.table, s) for s in due]) if due else []
        return {
            s for s, node in zip(due, nodes, strict=True) if node and node.record and END_OFFSET in node.record.simple
        }
