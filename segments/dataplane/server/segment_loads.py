"""Loads segments for the reconciler: a small pool, pauses between failures, each outcome in its slot."""

from __future__ import annotations

import logging
import random
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from segments.dataplane.primary_keys.server_keys import ServerKeys
from segments.dataplane.primary_keys.table_keys import locked
from segments.dataplane.server.held.held_segment import HeldSegment
from segments.dataplane.server.held.loader import Loader
from segments.dataplane.server.held.slots import Slot, Slots
from segments.dataplane.server.held.unfinished import NotCommittedYet
from segments.dataplane.server.pending_changes import PendingChanges
from segments.dataplane.server.reporter import Reporter
from segments.errors import PinotAdminError

log = logging.getLogger(__name__)

#: Seconds before a failed load is tried again: doubling, with a random part.
_FIRST_RETRY_S: Final = 0.5
_LONGEST_RETRY_S: Final = 60.0


class Loads:
    """``threads`` at a time. The reconciler decides what is loaded; ``pending`` marks when one has ended."""

    def __init__(
        self,
        instance: str,
        slots: Slots,
        loader: Loader,
        keys: ServerKeys,
        reporter: Reporter,
        pending: PendingChanges,
        threads: int,
    ) -> None:
        self._slots, self._loader, self._keys = slots, loader, keys
        self._reporter, self._pending = reporter, pending
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"load-{instance}")

    def stop(self) -> None:
        """Begin no more; those that run are waited for."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def load(self, table: str, name: str) -> None:
        """Bring a segment here, if it is wanted here: a consuming one first becomes the committed one itself."""
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
        self._pool.submit(self._run, table, name, slot, epoch)

    def _run(self, table: str, name: str, slot: Slot, epoch: int) -> None:
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

    def next_due(self, latest: float) -> float:
        """When the next failed one is to be tried again, of ``time.monotonic``; ``latest`` when none is before that."""
        with self._slots.locked() as tables:
            due = [slot.retry_at for slots in tables.values() for slot in slots.values() if slot.is_failed]
        return min([latest, *due])

    def retry_failed(self) -> None:
        """Those whose pause is over."""
        now = time.monotonic()
        with self._slots.locked() as tables:
            failed = [
                (table, name)
                for table, slots in tables.items()
                for name, slot in slots.items()
                if slot.is_failed and slot.retry_at <= now
            ]
        for table, name in failed:
            self.load(table, name)
