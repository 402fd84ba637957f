"""All consuming segments of a server: begins them where the ideal state wants them, passes messages on, takes their
results.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection
from typing import Final

from segments.dataplane.primary_keys.table_keys import locked
from segments.dataplane.server.consuming.partition_reader import PartitionReader
from segments.dataplane.server.consuming.read_ahead import ReadAhead
from segments.dataplane.server.consuming.rows_past_end import RowsPastEnd
from segments.dataplane.server.consuming.shared_resources import SharedResources
from segments.dataplane.server.consuming.source import Source
from segments.dataplane.server.consuming.worker import Worker
from segments.dataplane.server.held.held_segment import HeldSegment
from segments.dataplane.server.held.slots import Slot, Slots
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name
from segments.domain.realtime.pause import PauseState, pause_of
from segments.domain.realtime.streams.offset_auto_reset import auto_reset_of
from segments.domain.realtime.streams.stream_offset import Offset
from segments.domain.segments.ideal_state import CONSUMING, OFFLINE
from segments.errors import PinotAdminError
from segments.names import split_table_name

log = logging.getLogger(__name__)

#: Seconds for which a request to commit waits for a segment that is not there yet.
_EARLY_S: Final = 30.0


class Consumers:
    """Called by the reconcile thread, and by workers with their results (``Host``).

    ``report(table)`` has the states written; ``check(table, segment)`` has the segment compared with its wanted state
    again.
    """

    def __init__(
        self, parts: SharedResources, slots: Slots, report: Callable[[str], None], check: Callable[[str, str], None]
    ) -> None:
        self._parts, self._slots, self._report, self._check = parts, slots, report, check
        self._lock = threading.Lock()
        self._running: set[Worker] = set()
        self._ahead: dict[tuple[str, int], ReadAhead] = {}
        self._seen_to: dict[tuple[str, int], Offset] = {}
        self._latest: dict[tuple[str, int], dict[int, str]] = {}
        self._early: dict[tuple[str, str], float] = {}
        self._is_stopped = False
        self.tails = RowsPastEnd()
        self.keys = parts.keys

    # For the reconcile thread

    def ensure(self, table: str, ideal: ZNRecord | None) -> None:
        """Begin every segment of the table that is to consume and has no worker; commit those that a pause stops."""
        with self._slots.locked() as tables:
            slots = tables.get(table, {})
            fresh = [self._begin(table, name, slot) for name, slot in slots.items() if _is_to_begin(slot)]
            workers = [
                slot.consuming
                for slot in slots.values()
                if isinstance(slot.consuming, Worker) and slot.wanted == CONSUMING
            ]
            consumed = {_place(name)[0] for name, slot in slots.items() if slot.wanted == CONSUMING}
        for worker in fresh:
            worker.start()
        if ideal is None:
            self._drop_left(table, frozenset())
            self._parts.uploader.forget(split_table_name(table)[0])
            self.tails.forget_table(table)
            with self._lock:
                self._latest = {key: names for key, names in self._latest.items() if key[0] != table}
            return
        self.tails.compare(table, ideal.maps)
        self._drop_left(table, consumed)
        if workers:
            self._mind_pause(table, pause_of(ideal), workers)

    def force(self, table: str, segments: Collection[str]) -> None:
        """FORCE_COMMIT: commit these where they are; one that is not here yet hears it when it comes."""
        with self._slots.locked() as tables:
            slots = tables.get(table, {})
            found = {name: slots[name].consuming for name in segments if name in slots}
        now = time.monotonic()
        with self._lock:
            self._early = {key: until for key, until in self._early.items() if until > now}
            self._early.update({(table, name): now + _EARLY_S for name in segments if name not in found})
        for worker in found.values():
            if isinstance(worker, Worker):
                worker.force()

    def tidy(self) -> None:
        """Close connections that nobody uses any more."""
        self._parts.streams.tidy()

    def stop(self, timeout_s: float) -> None:
        """End all; a commit that runs is waited for as long as the time allows."""
        self._is_stopped = True
        with self._lock:
            workers, ahead = list(self._running), list(self._ahead.values())
        for worker in workers:
            worker.stop()
        for one in ahead:
            one.stop()
        deadline = time.monotonic() + timeout_s
        for worker in workers:
            if not worker.join(max(0.0, deadline - time.monotonic())):
                log.warning("Segment %s is left in the middle of %s", worker.segment, worker.state.value)
        self._parts.uploader.close()
        self._parts.streams.close()

    def _begin(self, table: str, name: str, slot: Slot) -> Worker:
        with self._lock:
            is_forced = self._early.pop((table, name), 0.0) > time.monotonic()
            worker = Worker(self._parts, self, table, name, is_forced=is_forced)
            self._running.add(worker)
            partition, sequence = _place(name)
            known = self._latest.get((table, partition), {})
            self._latest[table, partition] = {n: s for n, s in known.items() if abs(n - sequence) == 1} | {
                sequence: name
            }
        slot.consuming = worker
        if self._is_stopped:
            worker.stop()
        return worker

    def _mind_pause(self, table: str, pause: PauseState, workers: Collection[Worker]) -> None:
        """Servers see a pause without a message; one that was lost changes nothing (rule `resent-until-done`)."""
        for worker in workers:
            source, partition = worker.source, _place(worker.segment)[0]
            if pause.paused or (source is not None and pause.stops(partition, source.topics)):
                worker.force()
                self._pause_ahead(table, partition)

    # For workers

    def changed(self, worker: Worker) -> None:
        """Its reported state changed."""
        self._report(worker.table)

    def ended(self, worker: Worker) -> None:
        """It does nothing more."""
        with self._lock:
            self._running.discard(worker)
        self.tails.ended(worker.table, *_place(worker.segment))
        if not self._is_stopped:
            self._let_next_in(worker)
            self._check(worker.table, worker.segment)

    def install(self, worker: Worker, held: HeldSegment) -> bool:
        """The committed file takes the buffer's place, for every query that begins from now on."""
        if not self._swap(worker, held, ends=True):
            return False
        with self._lock:
            self._running.discard(worker)
        self._report(worker.table)
        self._let_next_in(worker)
        self._check(worker.table, worker.segment)
        return True

    def seal(self, worker: Worker, held: HeldSegment) -> bool:
        """The file takes the buffer's place for queries while its commit goes on."""
        if not self._swap(worker, held, ends=False):
            return False
        self._report(worker.table)
        self._let_next_in(worker)
        return True

    def _swap(self, worker: Worker, held: HeldSegment, *, ends: bool) -> bool:
        """File for buffer, in one moment; False, and the file is released, when nobody wants it."""
        keys = self._parts.keys.known(worker.table)
        read = None if keys is None else keys.keys_to_seal(held)
        with locked(keys):
            with self._slots.locked() as tables:
                slot = tables.get(worker.table, {}).get(worker.segment)
                is_wanted = slot is not None and slot.consuming is worker
                if slot is not None and is_wanted:
                    slot.held, slot.error = held, ""
                if slot is not None and is_wanted and ends:
                    slot.consuming, slot.failures = None, 0
            if is_wanted and keys is not None:
                keys.seal(held, read)
        if not is_wanted:
            held.release()
        return is_wanted

    def failed(self, worker: Worker, error: str) -> None:
        """ERROR, until somebody resets it or the segment is committed elsewhere; without an error it begins again at
        once.
        """
        with self._slots.locked() as tables:
            slot = tables.get(worker.table, {}).get(worker.segment)
            if slot is not None and slot.consuming is worker:
                slot.consuming, slot.error = None, error
        self._drop_ahead(worker.table, _place(worker.segment)[0])
        self._report(worker.table)

    def read_ahead(self, intake: PartitionReader) -> None:
        """Read on behind a full segment, unless that is done already, or the next one reads itself: it may have begun
        while this one still caught up with its committer.
        """
        source, settings = intake.source, self._parts.settings
        place = source.table, source.name.partition
        with self._lock:
            old = self._ahead.get(place)
            has_next = source.name.sequence + 1 in self._latest.get(place, {})
        # Rows without a segment have no place among rows of their keys, and may be skipped where the table wants that.
        has_place = intake.keyed is None and auto_reset_of(source.stream.raw) is None
        if self._is_stopped or not has_place or has_next or (old is not None and old.begins_behind(intake)):
            return
        try:
            behind = intake.behind()
        except PinotAdminError as error:
            log.info("Nothing is read ahead of %s: %s", source.name, error)
            return
        tails = self.tails
        ahead = ReadAhead(
            behind, settings, has_room=lambda: tails.unowned_bytes() < settings.ahead_bytes, went_on=tails.go_on
        )
        tails.put(intake, intake.segment.rows, behind)
        self._drop_ahead(source.table, source.name.partition)
        with self._lock:  # the next segment may take it at once
            ahead.start()
            self._ahead[place] = ahead

    def has_read_on(self, intake: PartitionReader) -> bool:
        """Are there rows behind these, or are they being read?"""
        with self._lock:
            ahead = self._ahead.get((intake.source.table, intake.source.name.partition))
            seen_to = self._seen_to.get((intake.source.table, intake.source.name.partition))
        has_seen = seen_to is not None and intake.source.is_paused and seen_to > intake.offset
        return has_seen or (ahead is not None and ahead.has_rows(intake))

    def seen_to(self, source: Source) -> Offset | None:
        """Up to where queries saw rows that had to be dropped, of a partition that was paused then."""
        with self._lock:
            return self._seen_to.get((source.table, source.name.partition)) if source.is_paused else None

    def take_ahead(self, source: Source) -> PartitionReader | None:
        """The rows that were read ahead for this segment, if they are its rows."""
        with self._lock:
            ahead = self._ahead.get((source.table, source.name.partition))
        if ahead is None:
            return None
        taken = ahead.take(source)
        if taken is not None:
            self.tails.taken(taken, source)
        with self._lock:
            if taken is None and ahead.read_to is not None:
                self._seen_to[source.table, source.name.partition] = ahead.read_to
            if ahead.is_over and self._ahead.get((source.table, source.name.partition)) is ahead:
                del self._ahead[source.table, source.name.partition]
        return taken

    def is_before_settled(self, worker: Worker) -> bool:
        """Has the partition's segment before this one, where it was consumed here, become the committed one?"""
        before = self._neighbour(worker, -1)
        with self._slots.locked() as tables:
            slot = tables.get(worker.table, {}).get(before)
            if slot is None or slot.wanted is None or slot.held is not None:
                return True
            return not isinstance(slot.consuming, Worker) or slot.consuming.is_settled

    def is_before_complete(self, worker: Worker, start: Offset) -> bool:
        """Are the rows of all segments before this one here, up to where it starts? Where one cannot be had, its rows
        are missing until it is.
        """
        partition, sequence = _place(worker.segment)
        with self._slots.locked() as tables:
            for name, slot in tables.get(worker.table, {}).items():
                before = _place(name)
                if before[0] != partition or before[1] >= sequence or slot.wanted in (None, OFFLINE) or slot.held:
                    continue
                consuming = slot.consuming
                is_last = before[1] == sequence - 1
                if not (is_last and isinstance(consuming, Worker) and consuming.ends_at(start)):
                    return False
        return True

    def _let_next_in(self, worker: Worker) -> None:
        after = self._neighbour(worker, 1)
        with self._lock:
            found = next((w for w in self._running if (w.table, w.segment) == (worker.table, after)), None)
        if found is not None:
            found.let_in()

    def _neighbour(self, worker: Worker, step: int) -> str:
        """Name of the partition's segment before (-1) or after this one that was begun here; empty when
        there is none.
        """
        partition, sequence = _place(worker.segment)
        with self._lock:
            return self._latest.get((worker.table, partition), {}).get(sequence + step, "")

    def _drop_left(self, table: str, consumed: Collection[int]) -> None:
        """Nobody here will come for rows of partitions that this server does not consume any more."""
        with self._lock:
            left = [p for name, p in {**self._ahead, **self._seen_to} if name == table and p not in consumed]
        for partition in left:
            self._drop_ahead(table, partition)

    def _pause_ahead(self, table: str, partition: int) -> None:
        with self._lock:
            ahead = self._ahead.get((table, partition))
        if ahead is not None:
            ahead.pause()

    def _drop_ahead(self, table: str, partition: int) -> None:
        with self._lock:
            ahead = self._ahead.pop((table, partition), None)
            self._seen_to.pop((table, partition), None)
        if ahead is not None:
            ahead.stop()


def _place(segment: str) -> tuple[int, int]:
    """Partition and sequence; a name that is none has none."""
    if not is_llc_name(segment):
        return -1, 0
    name = parse_llc_name(segment)
    return name.partition, name.sequence


def _is_to_begin(slot: Slot) -> bool:
    return (
        slot.wanted == CONSUMING
        and slot.consuming is None
        and slot.held is None
        and not slot.error
        and not slot.is_loading
    )
