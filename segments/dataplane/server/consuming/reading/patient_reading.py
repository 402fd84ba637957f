"""Reads a consuming segment's partition patiently: a stream that does not answer is waited for."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable

from segments.dataplane.server.consuming.partition_reader import PartitionReader, RowsGone
from segments.dataplane.server.consuming.reading.losses import Losses
from segments.dataplane.server.consuming.shared_resources import SharedResources
from segments.dataplane.server.consuming.waiting import FIRST_RETRY_S, Waiting
from segments.domain.realtime.streams.stream_offset import Offset
from segments.errors import PinotAdminError
from segments.metrics import servers

log = logging.getLogger(__name__)


class Reading:
    """The reading of one segment, by its own thread. ``has_read`` is called after every fetch."""

    def __init__(
        self,
        parts: SharedResources,
        intake: PartitionReader,
        losses: Losses,
        waiting: Waiting,
        has_read: Callable[[], None],
    ) -> None:
        self._parts, self._intake, self._losses, self._waiting = parts, intake, losses, waiting
        self._has_read = has_read
        self._retry_s = FIRST_RETRY_S

    def read(self, room: int, left_ms: int, *, stop: Offset | None = None) -> None:
        """One fetch of at most ``room`` messages within the time that is left; what came is visible. Raises Stopped,
        RowsGone with a ``stop``, and what no patience helps against.
        """
        self._waiting.check()
        settings, intake = self._parts.settings, self._intake
        timeout_s = min(
            settings.fetch_s,
            intake.source.stream.fetch_timeout_ms / 1000,
            left_ms / 1000 if left_ms > 0 else settings.fetch_s,
        )
        try:
            intake.read(min(settings.fetch_messages, room), timeout_s, stop=stop)
        except PinotAdminError as error:
            if error.permanent or isinstance(error, RowsGone):
                raise
            servers.CONSUMPTION_EXCEPTIONS.add(intake.source.table)
            self._retry_s = self._waiting.after(error, self._retry_s)
            return
        self._retry_s, self._waiting.problem = FIRST_RETRY_S, ""
        self._losses.note(intake)
        intake.set_aside.hand_over(self._parts.set_aside, intake.source)
        self._has_read()

    def up_to(self, to: Offset | None, patience_s: float, *, most_rows: int = sys.maxsize) -> bool:
        """Read exactly up to ``to``, or until there are so many rows; False when that did not come about within this
        time.
        """
        intake, until = self._intake, time.monotonic() + patience_s
        while to is not None and intake.offset < to and (room := most_rows - intake.segment.rows) > 0:
            if time.monotonic() >= until:
                log.warning(
                    "Segment %s does not reach %s, it stands at %s: %s",
                    intake.source.name,
                    to,
                    intake.offset,
                    self._waiting.problem,
                )
                break
            try:
                self.read(room, 1000, stop=to)
            except RowsGone as error:
                log.warning("Segment %s does not reach %s: %s", intake.source.name, to, error)
                break
        intake.rest()
        return to is None or intake.offset >= to
