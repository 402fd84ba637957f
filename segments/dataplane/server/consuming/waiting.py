"""What others want of a consuming segment's thread, and the waits that they end."""

from __future__ import annotations

import logging
import random
import threading
from typing import Final

from segments.errors import PinotAdminError

log = logging.getLogger(__name__)

#: Seconds between two tries when ZooKeeper or the stream does not answer: doubling up to the longest.
FIRST_RETRY_S: Final = 0.05
_LONGEST_RETRY_S: Final = 2.0


class Stopped(Exception):
    """The segment is not to be consumed here any more; never leaves its thread."""


class Waiting:
    """Flags that any thread sets and the segment's own reads. ``problem`` says why it waits just now, empty when all is
    well.

    ``is_forced``: commit at the present offset; ``is_online``: the ideal state says ONLINE.
    """

    def __init__(self, segment: str, *, is_forced: bool) -> None:
        self._segment = segment
        self.problem = ""
        self.is_forced, self.is_online, self.is_stopped = is_forced, False, False
        self._wake = threading.Event()

    def end(self) -> None:
        """End a wait that is under way, or the next one."""
        self._wake.set()

    def pause(self, seconds: float) -> None:
        """Wait, unless somebody wants something."""
        self._wake.wait(seconds)
        self._wake.clear()

    def keep_apart(self, longest_s: float, of: str) -> None:
        """Wait for a part of this time, unless somebody wants something: what comes to this point together does not all
        take the processor from queries at once. Whoever names the same ``of`` waits as long.
        """
        self.pause(longest_s * random.Random(of).random())

    def check(self) -> None:
        """Raises Stopped when the thread is to end."""
        if self.is_stopped:
            raise Stopped

    def after(self, error: PinotAdminError, retry_s: float) -> float:
        """Wait because of this error, and return how long to wait next time."""
        if self.problem != str(error):
            log.warning("Segment %s waits: %s", self._segment, error)
        self.problem = str(error)
        self.pause(retry_s)
        return min(_LONGEST_RETRY_S, retry_s * 2)
