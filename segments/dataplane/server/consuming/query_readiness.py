"""When a consuming segment may be reported, and so answer queries: not while it shows fewer rows than others, nor rows
twice (rules `never-backwards` and `one-snapshot-per-query`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from segments.dataplane.server.consuming.shared_resources import SharedResources
from segments.dataplane.server.consuming.source import Source, has_others
from segments.domain.realtime.streams.stream_offset import Offset
from segments.errors import PinotAdminError

log = logging.getLogger(__name__)

#: Seconds for which a restarted replica is kept out of queries while it reads again what another one has.
_BEHIND_S: Final = 30.0
#: Seconds between two checks that the other one still answers.
_POLL_S: Final = 1.0
#: Seconds that a segment waits for the one before it to show no more than was committed.
_BEFORE_S: Final = 2.0


class QueryReadiness:
    """One segment's. ``is_before_settled`` says whether this server's segment before it can show no row that this one
    has too.
    """

    def __init__(self, parts: SharedResources, source: Source, is_before_settled: Callable[[], bool]) -> None:
        self._parts, self._source = parts, source
        self._is_before_settled = is_before_settled
        now = time.monotonic()
        self._before_until = now + _BEFORE_S
        self._behind_until = now + _BEHIND_S
        self._check_at = now + _POLL_S
        self._target = self._latest() if source.has_others else None

    def is_open(self, offset: Offset) -> bool:
        """May it be reported now that it has been read up to ``offset``?"""
        now = time.monotonic()
        if now < self._before_until and not self._is_before_settled():
            return False
        return self._target is None or offset >= self._target or now >= self._behind_until or self._is_alone(now)

    def is_full(self) -> None:
        """The segment has all the rows that it will have: no other replica has more."""
        self._target = None

    def _is_alone(self, now: float) -> bool:
        """Is the other replica gone meanwhile? Then few rows are better than none."""
        if now < self._check_at:
            return False
        self._check_at = now + _POLL_S
        try:
            return not has_others(self._parts.store, self._source, self._parts.instance)
        except PinotAdminError:
            return False

    def _latest(self) -> Offset | None:
        """What the other replica has read, or will have in a moment."""
        source = self._source
        try:
            return self._parts.streams.stream(source.stream).latest(source.stream_partition)
        except PinotAdminError as error:
            log.info("Segment %s is reported at once: %s", source.name, error)
            return None
