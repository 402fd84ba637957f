"""What this server holds, loads and failed to load: one slot per assigned segment, behind one lock."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

import pyarrow as pa

from segments.dataplane.query.arrow.totals import Totals
from segments.dataplane.server.held.held_segment import HeldSegment
from segments.domain.segments.ideal_state import CONSUMING, ERROR, OFFLINE, ONLINE

#: Seconds between two searches for a copy of a segment that is being committed; its end is heard of at once.
_WAIT_POLL_S: Final = 2.0


class Answering(Protocol):
    """What a query reads of a segment: a held one, or the rows that a consuming one has at this moment
    (``is_growing``).
    """

    @property
    def name(self) -> str: ...

    @property
    def num_docs(self) -> int: ...

    @property
    def is_growing(self) -> bool: ...

    @property
    def totals(self) -> Totals | None: ...

    def table_of(self, columns: Sequence[str]) -> pa.Table:
        """Those of the columns that it has, in the order given."""


class Growing(Protocol):
    """A segment that is being consumed, as its slot knows it. None of the methods blocks."""

    @property
    def is_reported(self) -> bool: ...

    @property
    def is_over(self) -> bool:
        """Will nothing more come of it?"""

    def view(self) -> Answering | None:
        """Its rows now; None when it cannot answer."""

    def go_online(self) -> None:
        """Become the committed segment."""

    def stop(self) -> None:
        """Consume no more; what was read still answers."""


@dataclass
class Slot:
    """One segment. ``wanted`` is the ideal state's word, None once it was removed; times are of ``time.monotonic``.

    ``consuming`` reads the segment's rows from its stream and answers as long as there is no ``held`` file.

    ``epoch`` grows when a dropped segment comes back: what was held or is still loading may be another file of that
    name and counts no more. ``error`` says why the last load failed; next to a held segment it means that a refresh
    failed and the old one still serves. ``waits_since``: since when a copy is waited for of a segment that is being
    committed; 0 when none is.
    """

    wanted: str | None
    held: HeldSegment | None = None
    consuming: Growing | None = None
    error: str = ""
    failures: int = 0
    retry_at: float = 0.0
    is_loading: bool = False
    load_again: bool = False
    is_forced: bool = False
    dropped_at: float = 0.0
    waits_since: float = 0.0
    epoch: int = 0

    @property
    def is_failed(self) -> bool:
        """Is the last load to be tried again?"""
        return self.wanted == ONLINE and (bool(self.error) or self.waits_since > 0) and not self.is_loading

    @property
    def was_dropped(self) -> bool:
        """Has it been taken from this server since the process began, and come back? Its first coming is one, too."""
        return self.epoch > 1

    def wait_for_copy(self, now: float, wait_s: float, error: str) -> None:
        """No copy of what is being committed is to be had yet; that is an error only after so many seconds."""
        self.waits_since = self.waits_since or now
        is_over = now - self.waits_since >= wait_s
        self.error = error if is_over else ""
        left_s = _WAIT_POLL_S if is_over else min(_WAIT_POLL_S, self.waits_since + wait_s - now)
        self.retry_at = now + left_s

    @property
    def is_to_hold(self) -> bool:
        """Is the committed file wanted? Also when it was committed elsewhere before the ideal state says so."""
        return self.wanted == ONLINE or (
            self.wanted == CONSUMING and self.consuming is not None and self.consuming.is_over
        )

    def come_back(self) -> None:
        """A dropped segment is wanted again: load it again (a correct copy on disk is reused)."""
        self.end_consuming()
        self.held, self.error, self.failures, self.waits_since = None, "", 0, 0.0
        self.load_again = self.is_loading
        self.epoch += 1

    def end_consuming(self) -> None:
        """What was consumed counts no more."""
        if self.consuming is not None:
            self.consuming.stop()
            self.consuming = None

    @property
    def answering(self) -> Answering | None:
        """What answers queries now."""
        if self.held is not None or self.wanted == OFFLINE:
            return self.held if self.wanted != OFFLINE else None
        return self.consuming.view() if self.consuming is not None else None

    @property
    def state(self) -> str | None:
        """What is reported; None: nothing (being loaded for the first time, or dropped)."""
        if self.wanted is None:
            return None
        if self.wanted == OFFLINE:
            return OFFLINE
        if self.held is not None:
            return ONLINE
        if self.consuming is not None and self.consuming.is_reported:
            return CONSUMING
        return ERROR if self.error else None


@dataclass(frozen=True)
class Reported:
    """A segment's state, for ERROR why, and the CRC of what is held (None: nothing is)."""

    state: str
    info: str = ""
    crc: int | None = None


class Slots:
    """All slots of the server, by typed table and segment."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._tables: dict[str, dict[str, Slot]] = {}

    @contextmanager
    def locked(self) -> Iterator[dict[str, dict[str, Slot]]]:
        """The slots themselves, to change them. Nothing slow inside."""
        with self._lock:
            yield self._tables

    def reported(self, table: str) -> dict[str, Reported]:
        """{segment: state} as CURRENTSTATES should say."""
        with self._lock:
            slots = self._tables.get(table, {})
            return {
                name: Reported(state, slot.error, slot.held.crc if slot.held else None)
                for name, slot in slots.items()
                if (state := slot.state) is not None
            }

    def tables(self) -> list[str]:
        """Tables of which there is any slot."""
        with self._lock:
            return sorted(self._tables)

    def has_loads(self, table: str) -> bool:
        """Is any segment of the table being loaded right now?"""
        with self._lock:
            return any(slot.is_loading for slot in self._tables.get(table, {}).values())

    def find(self, table: str, names: Sequence[str]) -> tuple[list[Answering], list[str]]:
        """(segments that can answer, names of those that cannot). A dropped one still answers until it is removed."""
        with self._lock:
            slots = self._tables.get(table, {})
            pairs = [(name, slots[name].answering if name in slots else None) for name in names]
        return [found for _, found in pairs if found is not None], [name for name, found in pairs if found is None]

    def serving(self, table: str) -> dict[str, HeldSegment]:
        """What is assigned, loaded and not dropped."""
        with self._lock:
            return {
                name: slot.held
                for name, slot in self._tables.get(table, {}).items()
                if slot.wanted is not None and slot.wanted != OFFLINE and slot.held is not None
            }

    def consuming(self, table: str) -> dict[str, Growing]:
        """What of the table is being consumed, and not a file yet."""
        with self._lock:
            return {
                n: s.consuming
                for n, s in self._tables.get(table, {}).items()
                if s.wanted is not None and s.consuming is not None and s.held is None
            }

    def errors(self, table: str) -> Mapping[str, str]:
        """{segment: why its last load failed}"""
        with self._lock:
            return {
                name: slot.error
                for name, slot in self._tables.get(table, {}).items()
                if slot.error and slot.wanted is not None
            }

    def count_by_state(self) -> dict[str, int]:
        """{state: segments}, LOADING for those on their way."""
        counts: dict[str, int] = {}
        with self._lock:
            for slots in self._tables.values():
                for slot in slots.values():
                    state = slot.state or ("DROPPED" if slot.wanted is None else "LOADING")
                    counts[state] = counts.get(state, 0) + 1
        return counts
