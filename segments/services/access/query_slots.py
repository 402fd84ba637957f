"""How many queries are answered at once in this process, of one user and of all: who comes beyond waits a moment, then
is asked to try again later.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from segments.errors import TooManyRequests
from segments.gateways.timer import TIMER

#: Seconds to wait for another query to end, and after which a refused client may try again.
_PATIENCE_S: Final = 2.0
_AGAIN_S: Final = 1


class QuerySlots:
    """Safe to use from several threads."""

    def __init__(
        self, in_all: int, per_user: int, patience_s: float = _PATIENCE_S, clock: Callable[[], float] = TIMER.seconds
    ) -> None:
        self._in_all, self._per_user, self._patience_s, self._clock = in_all, per_user, patience_s, clock
        self._changed = threading.Condition()
        self._of: Counter[str] = Counter()
        self._count = 0

    @contextmanager
    def slot(self, user: str) -> Iterator[None]:
        """One query of the user. Raises TooManyRequests when none becomes free."""
        with self._changed:
            if not self._is_free(user) and not self._changed.wait_for(lambda: self._is_free(user), self._patience_s):
                raise TooManyRequests(
                    f"Queries that are being answered: {self._of[user]} of '{user}', {self._count} in all.",
                    remedy="Send fewer at once, or raise PINOTADMIN_QUERIES_PER_USER or PINOTADMIN_QUERIES_AT_ONCE.",
                    retry_after_s=_AGAIN_S,
                )
            self._of[user] += 1
            self._count += 1
        try:
            yield
        finally:
            with self._changed:
                self._count -= 1
                self._of[user] -= 1
                if not self._of[user]:
                    del self._of[user]
                self._changed.notify_all()

    def _is_free(self, user: str) -> bool:
        return self._count < self._in_all and self._of[user] < self._per_user
