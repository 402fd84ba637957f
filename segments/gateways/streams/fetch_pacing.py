"""Keeps a consumer that reads as fast as rows trickle in from fetching row by row, and lets it be woken."""

from __future__ import annotations

import threading
import time
from typing import Final

#: After a batch of fewer messages the next fetch waits until this long after it.
_SMALL: Final = 256
_REST_S: Final = 0.004
#: A blocking wait checks this often whether it was woken.
SLICE_S: Final = 0.02


class FetchPacing:
    """One per consumer. A fetch begins with :meth:`begin` and waits in slices while :meth:`left` is above zero."""

    def __init__(self) -> None:
        self._woken = threading.Event()
        self._rest_until = 0.0
        self._deadline = 0.0

    def begin(self, timeout_s: float) -> None:
        """Rest if the last batch was small: a few messages at once cost little more than one."""
        now = time.monotonic()
        self._deadline = now + timeout_s
        rest = min(self._rest_until, self._deadline) - now
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
        self._rest_until = time.monotonic() + _REST_S if 0 < messages < _SMALL else 0.0

    def wake(self) -> None:
        """End the running fetch, or else the next."""
        self._woken.set()
