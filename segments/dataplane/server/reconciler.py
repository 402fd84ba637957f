"""Drives every segment assigned to this server to its wanted state: level-triggered, from ideal states, records and
messages.

One thread decides, a small pool loads. A watch only says what to read; what is found there is compared with what is
held, so a lost or doubled event changes nothing.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from segments.dataplane.primary_keys.server_keys import ServerKeys
from segments.dataplane.primary_keys.table_keys import locked
from segments.dataplane.server.consuming import Consumers
from segments.dataplane.server.held.held_segment import HeldSegment
from segments.dataplane.server.held.loader import Loader
from segments.dataplane.server.held.segment_folders import SegmentFolders
from segments.dataplane.server.held.slots import Slot, Slots
from segments.dataplane.server.held.unfinished import NotCommittedYet
from segments.dataplane.server.message_reader import ForceCommit, Reload, Reset, take_requests
from segments.dataplane.server.pending_changes import Changes, PendingChanges
from segments.dataplane.server.reporter import Reporter
from segments.dataplane.server.segment_lives import SegmentLives
from segments.domain.segments import segment_metadata
from segments.domain.segments.ideal_state import CONSUMING, OFFLINE, ONLINE
from segments.errors import PinotAdminError
from segments.names import split_table_name
from segments.store import paths
from segments.store.base import Store, Watch

log = logging.getLogger(__name__)

#: Seconds between two full checks, watches or not.
_SWEEP_S: Final = 60.0
#: Seconds before a failed load is tried again: doubling, with a random part.
_FIRST_RETRY_S: Final = 0.5
_LONGEST_RETRY_S: Final = 60.0


#: Seconds that a commit in progress gets when the server stops.
_LEAVE_S: Final = 10.0


class Reconciler:
    """The loop. ``grace_s``: how long a dropped segment still answers queries that were planned before. ``pending``:
    marks of what to check; ``consumers`` drive the segments that read from streams.
    """

    def __init__(
        self,
        store: Store,
        instance: str,
        slots: Slots,
        loader: Loader,
        folders: SegmentFolders,
        reporter: Reporter,
        consumers: Consumers,
        pending: PendingChanges,
        keys: ServerKeys,
        lives: SegmentLives,
        *,
        loads: int,
        grace_s: float,
    ) -> None:
        self._store, self._instance = store, instance
        self._slots, self._loader, self._folders, self._reporter = slots, loader, folders, reporter
        self._grace_s, self._keys, self._lives = grace_s, keys, lives
        self._consumers, self._pending = consumers, pending
        self._pool = ThreadPoolExecutor(loads, thread_name_prefix=f"load-{instance}")
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
        self._pool.shutdown(wait=True, cancel_futures=True)

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
            changes = self._pending.take(min(sweep_at, self._next_due()))
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
        self._retry_failed()
        self._remove_dropped()
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
            self._remove_unassigned()
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
            self._load(table, name)
        self._keep_keys(table)
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

    def _keep_keys(self, table: str) -> None:
        """Rows of segments that are not wanted any more do not stand in the way of older ones."""
        keys = self._keys.known(table)
        if keys is None:
            return
        with keys.lock:
            with self._slots.locked() as tables:
                slots = tables.get(table, {})
                answering = {n for n, s in slots.items() if s.held is not None or s.consuming is not None}
                live = {n for n in answering if slots[n].wanted not in (None, OFFLINE)}
            keys.keep(live, answering)
        if not slots:  # loads that are under way have a slot
            self._keys.forget(table)

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

    # Loads

    def _load(self, table: str, name: str) -> None:
        with self._slots.locked() as tables:
            slot = tables.get(table, {}).get(name)
            if slot is None or not slot.is_to_hold:
                return
            if slot.consuming is not None and not slot.consuming.is_over:
                slot.consuming.go_online()
                return
            if slot.is_loading:
                slot.load_again = True
                return
            slot.is_loading = True
            epoch = slot.epoch
        self._pool.submit(self._run_load, table, name, slot, epoch)

    def _run_load(self, table: str, name: str, slot: Slot, epoch: int) -> None:
        loaded, keys, read, error, wait_s = None, None, None, "", 0
        try:
            loaded = self._loader.load(table, name, slot.held, is_forced=slot.is_forced, was_dropped=slot.was_dropped)
            keys = self._keys.of(table)
            read = keys.keys_of(loaded) if keys is not None and not keys.has(loaded) else None
        except NotCommittedYet as fault:
            error, wait_s = str(fault), fault.wait_s
        except PinotAdminError as fault:
            loaded, error = None, str(fault)
            log.warning("Segment %s of %s could not be loaded: %s", name, table, error)
        except Exception as fault:  # whatever it is, it must not stop the others
            loaded, error = None, f"{type(fault).__name__}: {fault}"
            log.exception("Segment %s of %s could not be loaded", name, table)
        with locked(keys):
            with self._slots.locked():
                slot.is_loading = False
                is_current = slot.epoch == epoch
                replaced = self._take_result(slot, loaded, error, wait_s) if is_current else loaded
                again, slot.load_again = slot.load_again, False
            if keys is not None and loaded is not None and read is not None and is_current:
                keys.put(loaded, read)
        if replaced is not None:
            replaced.release()
        self._reporter.mark(table)
        self._pending.mark(table, name if again else "")

    def _take_result(self, slot: Slot, loaded: HeldSegment | None, error: str, wait_s: int) -> HeldSegment | None:
        """Put the outcome into the slot; returns the segment that was replaced. ``wait_s``: a copy may still come."""
        if wait_s:
            slot.wait_for_copy(time.monotonic(), wait_s, error)
            return None
        if loaded is None:
            slot.error, slot.failures = error, slot.failures + 1
            pause = min(_LONGEST_RETRY_S, _FIRST_RETRY_S * 2 ** min(slot.failures - 1, 10))
            slot.retry_at = time.monotonic() + pause * (0.5 + random.random() / 2)
            return None
        slot.end_consuming()
        slot.error, slot.failures, slot.is_forced, slot.waits_since = "", 0, False, 0.0
        before, slot.held = slot.held, loaded
        return before if before is not loaded else None

    # What is due by time

    def _next_due(self) -> float:
        """When a failed load is to be tried again or a dropped segment to be removed, whichever is first."""
        due = time.monotonic() + _SWEEP_S
        with self._slots.locked() as tables:
            for slot in (s for slots in tables.values() for s in slots.values() if not s.is_loading):
                if slot.wanted is None:
                    due = min(due, slot.dropped_at + self._grace_s)
                elif slot.is_failed:
                    due = min(due, slot.retry_at)
        return due

    def _retry_failed(self) -> None:
        now = time.monotonic()
        with self._slots.locked() as tables:
            failed = [
                (table, name)
                for table, slots in tables.items()
                for name, slot in slots.items()
                if slot.is_failed and slot.retry_at <= now
            ]
        for table, name in failed:
            self._load(table, name)

    def _remove_dropped(self) -> None:
        """After the grace time: out of memory, then off the disk."""
        now = time.monotonic()
        with self._slots.locked() as tables:
            gone = []
            for table, slots in list(tables.items()):
                for name, slot in list(slots.items()):
                    if slot.wanted is None and not slot.is_loading and now >= slot.dropped_at + self._grace_s:
                        gone.append((table, name, slots.pop(name)))
                if not slots:
                    del tables[table]
        for table in {table for table, _, _ in gone}:
            self._keep_keys(table)
            if table not in self._slots.tables():
                self._lives.forget(table)
        for table, name, slot in gone:
            self._folders.remove(table, name)
            if slot.held is not None:
                slot.held.release()

    def _remove_unassigned(self) -> None:
        """What an earlier run left and nobody wants any more."""
        for table, names in self._folders.held().items():
            with self._slots.locked() as tables:
                unwanted = set(names) - set(tables.get(table, {}))
            for name in unwanted:
                log.info("Removing segment %s of %s: it is not assigned to this server.", name, table)
                self._folders.remove(table, name)

    def _note_ready(self) -> None:
        if self._has_reconciled and not self.is_ready.is_set():
            with self._slots.locked() as tables:
                is_busy = any(slot.is_loading for slots in tables.values() for slot in slots.values())
            if not is_busy:
                self.is_ready.set()
