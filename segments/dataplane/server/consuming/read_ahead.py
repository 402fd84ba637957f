"""Reads on behind a full segment while it is being committed, so that the next ones begin with their rows in memory.

However long the commit takes, and bounded by memory alone: what is read is cut where the segments to come will end, as
long as their row limit stays what it is. Nobody owns these rows before the next segment's record names the offset at
which they begin; another offset, another config, or rows whose time depends on that record, and they are dropped and
read again. A pause ends the reading: what was read until then is committed with it.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from segments.dataplane.server.consuming.partition_reader import PartitionReader
from segments.dataplane.server.consuming.shared_resources import ConsumingSettings
from segments.dataplane.server.consuming.source import Source
from segments.domain.realtime.streams.stream_offset import Offset
from segments.errors import PinotAdminError

log = logging.getLogger(__name__)

#: Seconds between two attempts when the stream does not answer, doubling up to the longest, and between two checks for
#: free memory.
_FIRST_RETRY_S: Final = 0.2
_LONGEST_RETRY_S: Final = 5.0
_NO_ROOM_S: Final = 0.2


class ReadAhead:
    """One partition, read from the end of a full segment. ``take`` or ``stop`` ends it, unless there is more for the
    segments behind.

    ``has_room``: is there memory for rows beyond the next segment's? ``went_on(full, behind)`` hears that one part is
    full and the rows behind it come into another. ``read_to``: where it ended, once ``take`` has ended it.
    """

    def __init__(
        self, intake: PartitionReader, settings: ConsumingSettings, *, has_room: Callable[[], bool] = lambda: True,
        went_on: Callable[[PartitionReader, PartitionReader], None] = lambda _full, _behind: None,
    ) -> None:  # fmt: skip
        self._settings, self._has_room, self._went_on = settings, has_room, went_on
        self._lock = threading.Lock()
        self._parts = deque([intake])
        self._stopped, self._is_paused = threading.Event(), threading.Event()
        self._is_dropped = False
        self.read_to: Offset | None = None
        self._retry_s = _FIRST_RETRY_S
        self._thread = threading.Thread(target=self._run, name=f"ahead-{intake.source.name}", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """Read no more: no segment begins with these rows. The connection is given back."""
        self._is_dropped = True
        self._end()

    def pause(self) -> None:
        """Read no more; what was read stays for the segments to come."""
        self._is_paused.set()
        self._wake()

    def _end(self) -> None:
        self._stopped.set()
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            last = self._parts[-1] if self._parts else None
        if last is not None:
            last.wake()

    @property
    def is_over(self) -> bool:
        """Is nothing read any more, and nothing left for a segment?"""
        return self._stopped.is_set()

    def has_rows(self, intake: PartitionReader) -> bool:
        """Are rows that follow this intake's here, or may there be some in a moment?"""
        with self._lock:
            found = any(part.segment.rows for part in self._parts)
        return self.begins_behind(intake) and (found or self._thread.is_alive())

    def begins_behind(self, intake: PartitionReader) -> bool:
        """Is what comes behind this intake being read here already?"""
        with self._lock:
            first = self._parts[0] if self._parts else None
        return (
            first is not None
            and not self.is_over
            and first.start == intake.offset
            and intake.source.continues(first.source)
        )

    def take(self, source: Source) -> PartitionReader | None:
        """The rows as the beginning of this segment, or None when they are not.

        Reading goes on behind a part that is a whole segment; else it has ended, and whoever took the rows reads on.
        """
        with self._lock:
            first = self._parts[0] if self._parts else None
            if (
                first is not None
                and len(self._parts) > 1
                and self._fits(first, source)
                and self._is_full(first, source.rows)
            ):
                return self._parts.popleft()
        self._end()
        self._thread.join(timeout=5.0)
        with self._lock:
            if self._parts:
                self.read_to = self._parts[-1].offset
            first = self._parts.popleft() if self._parts else None
            rest = [*self._parts]
            self._parts.clear()
        fits = first is not None and not self._thread.is_alive() and self._fits(first, source)
        for part in rest if fits or first is None else [first, *rest]:
            part.rest()
        return first if fits else None

    def _fits(self, first: PartitionReader, source: Source) -> bool:
        """Rows without a time got the creation of the segment before: they are not rows of this one."""
        is_next = first.start == source.start and source.continues(first.source)
        return is_next and first.segment.rows <= source.rows and not first.has_null_times

    def _is_full(self, part: PartitionReader, rows: int) -> bool:
        return part.segment.rows >= rows or part.segment.bytes >= self._settings.segment_bytes

    def _run(self) -> None:
        try:
            while not (self._stopped.is_set() or self._is_paused.is_set()):
                self._step()
        except Exception:  # the next segment reads these rows itself and reports what is wrong
            log.exception("Reading ahead ends")
            self._stopped.set()
            self._is_dropped = True
        with self._lock:
            parts = [*self._parts]
            if self._is_dropped:
                self._parts.clear()
        if self._is_dropped or self._is_paused.is_set():
            for part in parts:
                part.rest()

    def _step(self) -> None:
        """Read a little more into the last part, or begin one behind it."""
        with self._lock:
            part, is_beyond = self._parts[-1], len(self._parts) > 1
        is_full = self._is_full(part, part.source.rows)
        if (is_full or is_beyond) and not self._has_room():
            self._stopped.wait(_NO_ROOM_S)
        elif is_full:
            self._go_on(part)
        else:
            self._read(part)

    def _go_on(self, part: PartitionReader) -> None:
        """The connection goes to the part behind. Whoever takes this one meanwhile has all of it: nothing reads into it
        any more.
        """
        part.rest()
        behind = part.behind()
        with self._lock:
            if not self._stopped.is_set():
                self._went_on(part, behind)
                self._parts.append(behind)

    def _read(self, part: PartitionReader) -> None:
        try:
            part.read(min(self._settings.fetch_messages, part.source.rows - part.segment.rows), self._settings.fetch_s)
            self._retry_s = _FIRST_RETRY_S
        except PinotAdminError as error:
            if error.permanent:
                raise
            log.info("Reading ahead of %s waits: %s", part.source.name, error)
            self._stopped.wait(self._retry_s)
            self._retry_s = min(_LONGEST_RETRY_S, self._retry_s * 2)
