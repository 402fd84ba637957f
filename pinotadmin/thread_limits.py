"""Shares the threads of the web process among those who ask: nobody takes them all, and the cluster's own messages
always find one.
"""

from __future__ import annotations

import asyncio
from typing import Final

from segments.errors import TooManyRequests

_AGAIN_S: Final = 1


class ThreadLimits:
    """At most ``at_once`` requests of one sender are at work, ``waiting`` more of them wait, in order. Only used on the
    event loop.
    """

    def __init__(self, at_once: int, waiting: int, in_all: int) -> None:
        self._at_once, self._most, self._in_all = at_once, at_once + waiting, in_all
        self._count = 0
        self._of: dict[bytes, tuple[asyncio.Semaphore, list[int]]] = {}

    async def begin(self, sender: bytes) -> None:
        """Wait for a turn; give it back with ``end``. Raises TooManyRequests when too many wait already."""
        turn, count = self._of.get(sender) or self._of.setdefault(sender, (asyncio.Semaphore(self._at_once), [0]))
        if count[0] >= self._most or self._count >= self._in_all:
            if not count[0]:
                del self._of[sender]
            raise TooManyRequests(
                f"{count[0]} requests of yours and {self._count} in all are under way or wait.",
                remedy="Send fewer at once.",
                retry_after_s=_AGAIN_S,
            )
        count[0] += 1
        self._count += 1
        try:
            await turn.acquire()
        except BaseException:
            self._forget(sender)
            raise

    def end(self, sender: bytes) -> None:
        """Somebody else's turn."""
        self._of[sender][0].release()
        self._forget(sender)

    def _forget(self, sender: bytes) -> None:
        count = self._of[sender][1]
        count[0] -= 1
        self._count -= 1
        if not count[0]:
            del self._of[sender]
