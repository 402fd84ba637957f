"""Rings whenever something changed below a path: one watch per store for all that wait, which saves each of them
polling.
"""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

from segments.store.base import Store


class ChangeSignal:
    """Take ``count`` before a read and ``wait`` with it after: no change between is missed. A lost watch is: read
    now and then.
    """

    def __init__(self, store: Store, prefix: str) -> None:
        self._changed = threading.Condition()
        self._count = 0
        # The store keeps the watch; kept here it would keep the store alive.
        store.watch(prefix, self._ring)

    @property
    def count(self) -> int:
        """How often it rang."""
        return self._count

    def wait(self, heard: int, seconds: float) -> None:
        """Until it rang more than ``heard`` times, or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._count != heard, seconds)

    def _ring(self, _: str | None) -> None:
        with self._changed:
            self._count += 1
            self._changed.notify_all()


_bells: WeakKeyDictionary[Store, dict[str, ChangeSignal]] = WeakKeyDictionary()
_lock = threading.Lock()


def change_signal(store: Store, prefix: str) -> ChangeSignal:
    """The one signal of this store and path; it hangs as long as the store is open."""
    with _lock:
        bells = _bells.setdefault(store, {})
        if prefix not in bells:
            bells[prefix] = ChangeSignal(store, prefix)
        return bells[prefix]
