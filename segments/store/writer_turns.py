"""Writers of one table take turns inside a process, so that they do not cause one another conflicts over and over.

Only a matter of speed: compare-and-set is what keeps the state right, among processes there is no such order, and
a writer that waited long enough for its turn goes ahead without it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from segments.store.base import Store

#: Seconds after which a turn is no longer waited for.
PATIENCE_S = 1.0


class _Line:
    """Who is at it, and who waits, first come first served."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_taken = False
        self._waiting: deque[threading.Event] = deque()
        self.users = 0
        #: The thread whose turn it is, so that it may begin another block inside.
        self.owner: int | None = None

    def enter(self, seconds: float) -> bool:
        """Wait for the turn; False when the time is over first."""
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return True
            called = threading.Event()
            self._waiting.append(called)
        if called.wait(seconds):
            return True
        with self._lock:
            if called.is_set():
                return True
            self._waiting.remove(called)
            return False

    def leave(self) -> None:
        """Give the turn to whoever has waited longest."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._is_taken = False


_lines: WeakKeyDictionary[Store, dict[str, _Line]] = WeakKeyDictionary()
_lock = threading.Lock()


@contextmanager
def in_turn(store: Store, key: str, seconds: float = PATIENCE_S) -> Iterator[None]:
    """Run the block when nobody else in this process is inside one with the same store and key, or after ``seconds`` in
    any case.
    """
    with _lock:
        line = _lines.setdefault(store, {}).setdefault(key, _Line())
        line.users += 1
    is_inside = line.owner == threading.get_ident()
    has_turn = not is_inside and line.enter(seconds)
    if has_turn:
        line.owner = threading.get_ident()
    try:
        yield
    finally:
        if has_turn:
            line.owner = None
            line.leave()
        with _lock:
            line.users -= 1
            if line.users == 0:
                _lines[store].pop(key, None)
