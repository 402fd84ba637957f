"""Reads on behind a full segment while it is being committed, so that the next one begins with its first rows in memory.

Nobody sees these rows before the next segment's record names the offset at which they begin; another offset, another config, a pause, or
rows whose time depends on that record, and they are dropped and read again.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Final

from segments.dataplane.server.consuming.intake import Intake
from segments.dataplane.server.consuming.parts import ConsumingSettings
from segments.dataplane.server.consuming.source import Source
from segments.errors import PinotAdminError

log = logging.getLogger(__name__)

#: Seconds after which nobody will come for the rows any more.
_KEEP_S: Final = 60.0
_RETRY_S: Final = 0.2


class ReadAhead:
    """One partition, read from the end of a full segment. ``take`` or ``stop`` ends it."""

    def __init__(self, intake: Intake, settings: ConsumingSettings) -> None:
        self._intake: Intake | None = intake
        self._settings = settings
        self._stopped = threading.Event()
        self._is_taken = False
        self._thread = threading.Thread(target=self._run, args=(intake,), name=f"ahead-{intake.source.name}", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """Read no more; the rows are dropped."""
        self._stopped.set()
        intake = self._intake
        if intake is not None:
            intake.wake()

    def take(self, source: Source) -> Intake | None:
        """The rows as the beginning of this segment, or None when they are not; reading has ended in any case."""
        self._is_taken = True
        self.stop()
        self._thread.join(timeout=5.0)
        intake, self._intake = self._intake, None
        if intake is None or self._thread.is_alive():
            return None
        fits = intake.start == source.start and source.continues(intake.source) and intake.segment.rows <= source.rows
        if not fits or intake.has_null_times:  # those got the creation of the segment before
            intake.rest()
            return None
        intake.source = source
        return intake

    def _run(self, intake: Intake) -> None:
        until = time.monotonic() + _KEEP_S
        try:
            while not self._stopped.is_set() and time.monotonic() < until:
                self._read(intake, until)
        except Exception:  # the next segment reads these rows itself and tells what is wrong
            log.exception("Reading ahead of %s ends", intake.source.name)
            self._intake = None
        if not self._is_taken:
            self._intake = None
            intake.rest()

    def _read(self, intake: Intake, until: float) -> None:
        room = intake.source.rows - intake.segment.rows
        if room <= 0 or intake.segment.bytes >= self._settings.segment_bytes:
            self._stopped.wait(max(0.0, until - time.monotonic()))
            return
        try:
            intake.read(min(self._settings.fetch_messages, room), self._settings.fetch_s)
        except PinotAdminError as error:
            log.info("Reading ahead of %s waits: %s", intake.source.name, error)
            self._stopped.wait(_RETRY_S)
