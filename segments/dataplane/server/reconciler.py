"""Drives every segment assigned to this server to its wanted state: level-triggered, from ideal states, records and
messages.

One thread decides; loads have theirs (`segment_loads.py`). A watch only says what to read; what is found there is
compared with what is held, so a lost or doubled event changes nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from segments.dataplane.server.consuming import Consumers
from segments.dataplane.server.dropped_segments import Dropped
from segments.dataplane.server.held.slots import Slot, Slots
from segments.dataplane.server.message_reader import ForceCommit, Reload, Reset, take_requests
from segments.dataplane.server.pending_changes import Changes, PendingChanges
from segments.dataplane.server.reporter import Reporter
from segments.dataplane.server.segment_loads import Loads
from segments.domain.segments import segment_metadata
from segments.domain.segments.ideal_state import CONSUMING, OFFLINE, ONLINE
from segments.errors import PinotAdminError
from segments.names import split_table_name
from segments.store import paths
from segments.store.base import Store, Watch

log = logging.getLogger(__name__)

#: Seconds between two full checks, watches or not.
_SWEEP_S: Final = 60.0
#: Seconds that a commit in progress gets when the server stops.
_LEAVE_S: Final = 10.0


class Reconciler:
    """The loop. ``pending``: marks of what to check; ``consumers`` drive the segments that read from streams, ``loads``
    bring files here, ``dropped`` removes what is not wanted any more.
    """

    def __init__(
        self,
        store: Store,
        instance: str,
        slots: Slots,
        reporter: Reporter,
        consumers: Consumers,
        pending: PendingChanges,
        loads: Loads,
        dropped: Dropped,
    ) -> None:
        self._store, self._instance = store, instance
        self._slots, self._reporter, self._loads, self._dropped = slots, reporter, loads, dropped
        self._consumers, self._pending = consumers, pending
        self._thread = threading.Thread(target=self._run, name=f"reconcile-{instance}", daemon=True)
        self._watches: list[Watch] = []
        self._has_reconciled = False
        self.is_ready = threading.Event()

    def start(self) -> None:
        """Watch and begin; ``is_ready`` is set when everything assigned at the start was loaded or has failed."""
        follow: list[tuple[str, Callable[[str | None], None]]] = [
            (paths.IDEAL_STATES, self._on_ideal_state),
            (paths.SEGMENTS, self._on_segment),
            (paths.messages(self._instance), lambda _: self._pending.mark(messages=True)),
            (paths.LIVE_INSTANCES, lambda _: self._pending.mark(instances=True)),
        ]
        self._watches = [self._store.watch(prefix, callback) for prefix, callback in follow]
        self._pending.mark(everything=True)
        self._thread.start()

    def stop(self) -> None:
        """End loop, consumers and pool; running commits get a while, running loads are waited for."""
        for watch in self._watches:
            watch.close()
        self._pending.stop()
        self._thread.join(timeout=10.0)
        self._consumers.stop(_LEAVE_S)
        self._loads.stop()

    # Watches: they only mark

    def _on_ideal_state(self, path: str | None) -> None:
        if path is None:
            self._pending.mark(everything=True)
        elif split_table_name(table := path.rpartition("/")[2])[1] is not None:
            self._pending.mark(table)

    def _on_segment(self, path: str | None) -> None:
        if path is None:
            self._pending.mark(everything=True)
            return
        table, _, segment = path[len(paths.SEGMENTS) + 1 :].partition("/")
        if segment:
            self._pending.mark(table, segment)

    # The loop

    def _run(self) -> None:
        sweep_at = time.monotonic() + _SWEEP_S
        while not self._pending.is_stopped:
            changes = self._pending.take(self._loads.next_due(self._dropped.next_due(sweep_at)))
            if time.monotonic() >= sweep_at:
                changes.everything = True
            if changes.everything:
                sweep_at = time.monotonic() + _SWEEP_S
            try:
                self._take(changes)
            except PinotAdminError as error:
                log.warning("Everything is checked again in a moment: %s", error)
                self._retry_later()
            except Exception:
                log.exception("Everything is checked again in a moment")
                self._retry_later()

    def _retry_later(self) -> None:
        time.sleep(0.2)
        self._pending.mark(everything=True, messages=True)

    def _take(self, changes: Changes) -> None:
        if self._pending.is_stopped:
            return
        if changes.messages:
            self._take_messages(changes)
        if changes.everything:
            self._reconcile_everything()
        else:
            for table, segments in changes.tables.items():
                self._reconcile(table, segments)
        if changes.instances:
            self._reporter.mark(*self._viewed())
        self._loads.retry_failed()
        self._dropped.remove_due()
        self._note_ready()

    def _take_messages(self, changes: Changes) -> None:
        for request in take_requests(self._store, self._instance):
            if split_table_name(request.table)[1] is None:
                continue
            match request:
                case ForceCommit(table, segments):
                    self._consumers.force(table, segments)
                case Reset(table, segment):
                    self._reset(table, segment)
                    changes.tables[table].add(segment)
                case Reload():
                    self._take_reload(request, changes)

    def _take_reload(self, reload: Reload, changes: Changes) -> None:
        with self._slots.locked() as tables:
            slots = tables.get(reload.table, {})
            names = set(reload.segments or slots)
            for name in names & set(slots):
                slots[name].is_forced |= reload.is_forced
        changes.tables[reload.table].update(names)
        if changes.everything:
            self._reconcile(reload.table, names)

    def _reset(self, table: str, segment: str) -> None:
        """Begin the segment again: a consuming one from its start offset, another by loading it again."""
        with self._slots.locked() as tables:
            slot = tables.get(table, {}).get(segment)
            if slot is None or slot.wanted is None:
                return
            log.info("Segment %s of %s is reset", segment, table)
            slot.end_consuming()
            slot.error, slot.failures, slot.retry_at, slot.waits_since = "", 0, 0.0, 0.0
            slot.is_forced |= slot.held is not None
        self._reporter.mark(table)

    def _reconcile_everything(self) -> None:
        listed = {t for t in self._store.children(paths.IDEAL_STATES) if split_table_name(t)[1] is not None}
        for table in sorted(listed | self._viewed() | set(self._slots.tables())):
            self._reconcile(table, None)
            self._reporter.mark(table)
        self._consumers.tidy()
        if not self._has_reconciled:
            self._dropped.remove_unassigned()
            self._has_reconciled = True

    def _viewed(self) -> set[str]:
        """Tables with an external view; brokers write that of ``brokerResource``."""
        return {t for t in self._store.children(paths.EXTERNAL_VIEWS) if split_table_name(t)[1] is not None}

    def _reconcile(self, table: str, changed: set[str] | None) -> None:
        """Compare one table with its ideal state. ``changed``: segments whose records to compare too, None: all."""
        node = self._store.get(paths.ideal_state(table))
        ideal = node.record.maps if node and node.record else {}
        wanted = {s: row[self._instance] for s, row in ideal.items() if self._instance in row}
        has_changed, to_load = self._apply(table, wanted)
        with self._slots.locked() as tables:
            slots = tables.get(table, {})
            names = [s for s in (slots if changed is None else changed & set(slots)) if slots[s].is_to_hold]
        for name in self._outdated(table, names) | to_load:
            self._loads.load(table, name)
        self._dropped.keep_keys(table)
        self._consumers.ensure(table, node.record if node else None)
        if has_changed or node is None:
            self._reporter.mark(table)

    def _apply(self, table: str, wanted: Mapping[str, str]) -> tuple[bool, set[str]]:
        """Take over the ideal state's rows; (did any reported state change, segments to load for the first time)."""
        has_changed, to_load = False, set()
        with self._slots.locked() as tables:
            slots = tables.setdefault(table, {})
            for name, slot in slots.items():
                if name not in wanted and slot.wanted is not None:
                    slot.wanted, slot.dropped_at, slot.error = None, time.monotonic(), ""
                    if slot.consuming is not None:
                        slot.consuming.stop()
                    has_changed = True
            for name, state in wanted.items():
                if state not in (ONLINE, OFFLINE, CONSUMING):
                    continue
                slot = slots.setdefault(name, Slot(None))
                if slot.wanted != state:
                    if slot.wanted is None:
                        slot.come_back()
                    slot.wanted, has_changed = state, True
                    if state == ONLINE:
                        to_load.add(name)
                    elif state == OFFLINE:
                        slot.end_consuming()
                    else:
                        slot.error = ""
            if not slots:
                del tables[table]
        return has_changed, to_load

    def _outdated(self, table: str, names: list[str]) -> set[str]:
        """Those whose held CRC is not the one on record, or that are to be loaded again in any case."""
        nodes = self._store.get_many([paths.segment(table, name) for name in names])
        found = set()
        with self._slots.locked() as tables:
            for name, node in zip(names, nodes, strict=True):
                slot = tables.get(table, {}).get(name)
                crc = segment_metadata.from_record(node.record).crc if node and node.record else None
                if (
                    slot is not None
                    and crc is not None
                    and (slot.held is None or slot.held.crc != crc or slot.is_forced)
                ):
                    found.add(name)
        return found

    def _note_ready(self) -> None:
        if self._has_reconciled and not self.is_ready.is_set():
            with self._slots.locked() as tables:
                is_busy = any(slot.is_loading for slots in tables.values() for slot in slots.values())
            if not is_busy:
                self.is_ready.set()
