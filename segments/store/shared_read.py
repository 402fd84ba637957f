"""One read for all threads that want the same at the same time: twenty ends of one table need not read twenty times.

The caller gets a read that began after the call, so nothing is older than what the thread would have read itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from segments.store.base import Store

T = TypeVar("T")


class _Read:
    """One read under way or about to be, and what came of it."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.value: Any = None
        self.error: BaseException | None = None

    def run(self, read: Callable[[], Any]) -> None:
        try:
            self.value = read()
        except BaseException as error:
            self.error = error
            raise
        finally:
            self.done.set()

    def result(self) -> Any:
        self.done.wait()
        if self.error is not None:
            raise self.error
        return self.value


class _Line:
    """The read that runs, and the one that begins when it is over: for all who came meanwhile."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: _Read | None = None
        self.next: _Read | None = None

    def read(self, read: Callable[[], Any]) -> Any:
        with self.lock:
            if self.next is not None:
                joined, before = self.next, None
            else:
                joined, before, mine = None, self.running, _Read()
                if before is None:
                    self.running = mine
                else:
                    self.next = mine
        if joined is not None:
            return joined.result()
        if before is not None:
            before.done.wait()
            with self.lock:
                self.running, self.next = mine, None
        try:
            mine.run(read)
        finally:
            with self.lock:
                if self.running is mine:
                    self.running = None
        return mine.value


_lines: WeakKeyDictionary[Store, dict[str, _Line]] = WeakKeyDictionary()
_lock = threading.Lock()


def read_together(store: Store, key: str, read: Callable[[], T]) -> T:
    """What ``read`` gives, called once for all threads of this process that ask for ``key`` meanwhile. Raises what it
    raises.
    """
    with _lock:
        line = _lines.setdefault(store, {}).setdefault(key, _Line())
    result: T = line.read(read)
    return result
