"""The web processes, which hand out segment files and take commits and reports: every one that is registered as live,
whatever its host and port are now, and those that this server was started with.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from segments.domain.access.cluster_signature import address_of
from segments.errors import InvalidInput, PinotAdminError
from segments.store import paths
from segments.store.base import Store
from segments.store.records.instances import web_urls

log = logging.getLogger(__name__)

#: Seconds for which what was read of the registered ones counts.
_FRESH_S: Final = 2.0
#: Seconds for which one that did not answer is asked last; doubled with every further time, up to the longest.
_FIRST_S: Final = 1.0
_LONGEST_S: Final = 60.0


class WebProcesses:
    """In which order they are asked. Safe between threads; ``clock`` is there for tests."""

    def __init__(self, store: Store, given: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._given = store, [url.rstrip("/") for url in given if url]
        self._clock, self._lock = clock, threading.Lock()
        self._read_at = -_FRESH_S
        self._live: list[str] = []
        self._known: set[str] = set()
        #: {address: (failures in a row, until when it is asked last)}
        self._failed: dict[str, tuple[int, float]] = {}

    def urls(self) -> list[str]:
        """Base addresses, the most promising first: live ones in random order, then the given ones, then those that did
        not answer a moment ago.
        """
        self._refresh()
        with self._lock:
            live, now = list(self._live), self._clock()
            waiting = {url for url, (_, until) in self._failed.items() if until > now}
        random.shuffle(live)
        found = list(dict.fromkeys([*live, *self._given]))
        return sorted(found, key=lambda url: url in waiting)

    def has(self, url: str) -> bool:
        """Does this address, which whoever pushes may choose, lead to one of them, or to where one ever was?
        InvalidInput for what is not an address.
        """
        try:
            address = address_of(url)
        except ValueError as error:
            raise InvalidInput(
                f"'{url}' is not an address: {error}.", remedy="Correct segment.download.url."
            ) from error
        self._refresh()
        return address in self._known or any(address == address_of(one) for one in self._given)

    def answered(self, url: str) -> None:
        """It did: it is asked as the others are."""
        with self._lock:
            self._failed.pop(url, None)

    def failed(self, url: str) -> None:
        """It did not: others are asked first for a while."""
        with self._lock:
            times = self._failed.get(url, (0, 0.0))[0] + 1
            self._failed[url] = (times, self._clock() + min(_LONGEST_S, _FIRST_S * 2 ** min(times - 1, 10)))

    def _refresh(self) -> None:
        """Read who is registered; while ZooKeeper does not answer, what was known stays."""
        now = self._clock()
        if now - self._read_at < _FRESH_S:
            return
        try:
            live = set(self._store.children(paths.LIVE_INSTANCES))
            webs = web_urls(self._store)
        except PinotAdminError as error:
            log.info("Which web processes are there cannot be read: %s", error)
            return
        with self._lock:
            self._read_at = now
            self._live = sorted(url for name, url in webs.items() if name in live)
            self._known = {address_of(url) for url in webs.values()}
