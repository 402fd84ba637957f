"""Whose turn it is to read segment files for a query: so many at once, of one table one at a time. Memory and disk of
the process stay bounded, and who may query one table cannot keep all turns from the others.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Final

from segments.errors import TooManyRequests

_AT_ONCE: Final = 2
_WAIT_S: Final = 20.0


class FileTurns:
    """Safe to use from several threads. ``wait_s``: seconds until who waits is refused."""

    def __init__(self, at_once: int = _AT_ONCE, wait_s: float = _WAIT_S) -> None:
        self._at_once, self._wait_s = at_once, wait_s
        self._free = threading.Condition()
        self._reading: list[tuple[str, str]] = []

    @contextmanager
    def turn(self, cluster: str, table: str) -> Iterator[None]:
        """Files of the table (typed name) are read inside. TooManyRequests when no turn comes in time."""
        wanted = (cluster, table)
        with self._free:
            if not self._free.wait_for(lambda: self._is_free(wanted), self._wait_s):
                of_it = f"of table '{table}' " if wanted in self._reading else ""
                raise TooManyRequests(
                    f"Other queries of snapshots {of_it}are read from files by this process.",
                    remedy="Try again when one of them is through.",
                    retry_after_s=round(self._wait_s),
                )
            self._reading.append(wanted)
        try:
            yield
        finally:
            with self._free:
                self._reading.remove(wanted)
                self._free.notify_all()

    def _is_free(self, wanted: tuple[str, str]) -> bool:
        return len(self._reading) < self._at_once and wanted not in self._reading


@lru_cache(maxsize=1)
def file_turns() -> FileTurns:
    """Those of this process."""
    return FileTurns()
