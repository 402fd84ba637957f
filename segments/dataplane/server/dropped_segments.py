"""Removes what this server is not to hold any more: from memory after a time of grace, then from the disk."""

from __future__ import annotations

import logging
import time

from segments.dataplane.primary_keys.server_keys import ServerKeys
from segments.dataplane.server.held.segment_folders import SegmentFolders
from segments.dataplane.server.held.slots import Slots
from segments.dataplane.server.segment_lives import SegmentLives
from segments.domain.segments.ideal_state import OFFLINE

log = logging.getLogger(__name__)


class Dropped:
    """``grace_s``: how long a dropped segment still answers queries that were planned before."""

    def __init__(
        self, slots: Slots, folders: SegmentFolders, keys: ServerKeys, lives: SegmentLives, grace_s: float
    ) -> None:
        self._slots, self._folders, self._keys, self._lives = slots, folders, keys, lives
        self._grace_s = grace_s

    def next_due(self, latest: float) -> float:
        """When the next one is to be removed, of ``time.monotonic``; ``latest`` when none is before that."""
        with self._slots.locked() as tables:
            due = [
                slot.dropped_at + self._grace_s
                for slots in tables.values()
                for slot in slots.values()
                if slot.wanted is None and not slot.is_loading
            ]
        return min([latest, *due])

    def remove_due(self) -> None:
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
            self.keep_keys(table)
            if table not in self._slots.tables():
                self._lives.forget(table)
        for table, name, slot in gone:
            self._folders.remove(table, name)
            if slot.held is not None:
                slot.held.release()

    def remove_unassigned(self) -> None:
        """What an earlier run left and nobody wants any more."""
        for table, names in self._folders.held().items():
            with self._slots.locked() as tables:
                unwanted = set(names) - set(tables.get(table, {}))
            for name in unwanted:
                log.info("Removing segment %s of %s: it is not assigned to this server.", name, table)
                self._folders.remove(table, name)

    def keep_keys(self, table: str) -> None:
        """Rows of segments that are not wanted any more do not stand in the way of older ones."""
        keys = self._keys.known(table)
        if keys is None:
            return
        with keys.lock:
            with self._slots.locked() as tables:
                slots = tables.get(table, {})
                answering = {n for n, s in slots.items() if s.held is not None or s.consuming is not None}
                wanted = {n for n, s in slots.items() if s.wanted not in (None, OFFLINE)}
            keys.keep(wanted, answering)
        if not slots:  # loads that are under way have a slot
            self._keys.forget(table)
