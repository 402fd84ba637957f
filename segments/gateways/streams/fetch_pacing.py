"""Keeps a consumer that reads as fast as rows trickle in from fetching row by row, and lets it be woken."""

from __future__ import annotations

import threading
import time
from typing import Final

#: Batches of fewer messages are small: more of them at once cost little more.
_SMALL: Final = 256
#: The next fetch begins so many times as long after a small batch as it took to store that, so that small batches keep
#: a thread busy for a third of the time, and on a busy machine leave the processor to queries; but at least and at most
#: so many seconds after it.
_REST_TIMES: Final = 3
_REST_S: Final = 0.004
_LONGEST_REST_S: Final = 0.02
#: A blocking wait checks this often whether it was woken.
SLICE_S: Final = 0.02


class FetchPacing:
    """One per consumer. A fetch begins with :meth:`begin` and waits in slices while :meth:`left` is above zero."""

    def __init__(self) -> None:
        self._woken = threading.Event()
        self._small_at: float | None = None
        self._deadline = 0.0

    def begin(self, timeout_s: float) -> None:
        """Rest if the last batch was small: a few messages at once cost little more than one."""
        now = time.monotonic()
        self._deadline = now + timeout_s
        rest = min(self._rest_until(now), self._deadline) - now
        if rest > 0:
            self._woken.wait(rest)

    def left(self) -> float:
        """Seconds that this fetch may still wait, at most a slice; 0 when it is over or was woken."""
        if self._woken.is_set():
            self._woken.clear()
            return 0.0
        return max(0.0, min(SLICE_S, self._deadline - time.monotonic()))

    def end(self, messages: int) -> None:
        """The fetch returns that many messages."""
        self._small_at = time.monotonic() if 0 < messages < _SMALL else None

    def wake(self) -> None:
        """End the running fetch, or else the next."""
        self._woken.set()

    def _rest_until(self, now: float) -> float:
        """When the next fetch may begin; that is over where something else than storing the batch took long."""
        if self._small_at is None:
            return now
        rest = min(_LONGEST_REST_S, max(_REST_S, _REST_TIMES * (now - self._small_at)))
        return self._small_at + rest
