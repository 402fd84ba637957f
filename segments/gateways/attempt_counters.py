"""Counters that end after a time, shared by all processes in Redis; in this process alone while Redis
does not answer.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeVar

from limits.errors import ConfigurationError, StorageError
from limits.storage import MemoryStorage, RedisStorage
from redis import RedisError

log = logging.getLogger(__name__)
T = TypeVar("T")
#: Seconds that a call may take, and for which Redis is not asked after a failure.
_TIMEOUT_S: Final = 0.5
_PAUSE_S: Final = 5.0
_PREFIX: Final = "pinotadmin-attempts"

Storage = RedisStorage | MemoryStorage


@lru_cache(maxsize=4)
def shared(url: str) -> AttemptCounters:
    """This process's counters in the Redis at ``url`` (redis://...; empty: in memory only)."""
    return AttemptCounters(url)


class AttemptCounters:
    """Never raises and never waits for long: without Redis it counts in memory, so limits then hold for each process by
    itself.
    """

    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._url, self._clock = url, clock
        self._lock = threading.Lock()
        self._memory = MemoryStorage()
        self._redis: RedisStorage | None = None
        self._not_before = 0.0
        self._pid = os.getpid()

    def add(self, key: str, seconds: int, amount: int = 1) -> int:
        """Add to the counter and return it. It ends ``seconds`` after its first count. ``amount`` -1 takes one back."""
        return int(self._ask(lambda storage: storage.incr(key, seconds, amount=amount)))

    def read(self, key: str) -> int:
        """The counter; 0 when it has ended."""
        return int(self._ask(lambda storage: storage.get(key)))

    def ends_in_s(self, key: str) -> int:
        """Whole seconds until the counter ends, at least 1."""
        return max(1, round(self._ask(lambda storage: storage.get_expiry(key)) - time.time() + 0.5))

    def clear(self, key: str) -> None:
        """End the counter at once."""
        self._ask(lambda storage: storage.clear(key))

    def _ask(self, call: Callable[[Storage], T]) -> T:
        redis = self._open()
        if redis is not None:
            try:
                return call(redis)
            except (
                StorageError,
                RedisError,
                ValueError,
                TypeError,
            ) as error:  # the latter two: an answer that is not a number
                self._give_up(error)
        return call(self._memory)

    def _open(self) -> RedisStorage | None:
        """Redis, unless it failed a moment ago. A forked process opens its own connections."""
        with self._lock:
            if self._pid != os.getpid():
                self._redis, self._memory, self._pid = None, MemoryStorage(), os.getpid()
            if not self._url or self._clock() < self._not_before:
                return None
            if self._redis is not None:
                return self._redis
        try:
            opened = RedisStorage(
                self._url,
                key_prefix=_PREFIX,
                wrap_exceptions=True,
                socket_timeout=_TIMEOUT_S,
                socket_connect_timeout=_TIMEOUT_S,
            )
        except (ConfigurationError, StorageError, RedisError, ValueError) as error:
            self._give_up(error)
            return None
        with self._lock:
            self._redis = self._redis or opened
            return self._redis

    def _give_up(self, error: Exception) -> None:
        with self._lock:
            self._not_before = self._clock() + _PAUSE_S
        log.warning(
            "Redis does not count attempts to sign in (%s); this process counts them alone meanwhile.",
            type(error).__name__,
        )
