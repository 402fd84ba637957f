"""Decoded columns of held segments, bounded by bytes: the least recently used go first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any


class ColumnCache:
    """Values that know their size (``nbytes``), by (segment, what). A value is computed outside the lock: two threads
    may do the same work once, none waits for a foreign segment.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._lock = threading.Lock()
        self._values: OrderedDict[tuple[object, str], tuple[Any, int]] = OrderedDict()
        self._bytes = 0

    @property
    def size_bytes(self) -> int:
        """Bytes held now."""
        return self._bytes

    def get(self, owner: object, what: str, compute: Callable[[], Any]) -> Any:
        """The value, from the cache or computed. ``owner`` is compared by identity and kept alive until ``forget``."""
        key = (owner, what)
        with self._lock:
            found = self._values.get(key)
            if found is not None:
                self._values.move_to_end(key)
                return found[0]
        value = compute()
        size = int(getattr(value, "nbytes", 0))
        if size <= self._limit:
            self._put(key, value, size)
        return value

    def forget(self, owner: object) -> None:
        """Drop everything of one segment."""
        with self._lock:
            for key in [k for k in self._values if k[0] is owner]:
                self._bytes -= self._values.pop(key)[1]

    def _put(self, key: tuple[object, str], value: Any, size: int) -> None:
        with self._lock:
            if key in self._values:
                return
            self._values[key] = (value, size)
            self._bytes += size
            while self._bytes > self._limit:
                _, (_, freed) = self._values.popitem(last=False)
                self._bytes -= freed
