"""Calls into a file system that may never return: each runs in a thread of its own, and the caller goes on when its
time is up.

What hangs cannot be ended from within a process. Its thread is left behind; whatever a caller would have done next is
not done. While a call hangs, others are answered at once with Unavailable, until the file system answers a question
again.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar
from weakref import WeakSet

from segments.errors import Unavailable

T = TypeVar("T")
#: Threads that are left behind at most; beyond that nothing is tried that could hang, too.
_MOST_LEFT: Final = 32
#: Seconds that a caller waits for a file system that hung to answer again.
_ASK_S: Final = 0.5
#: Seconds without a call after which a thread ends.
_IDLE_S: Final = 60.0


class NoAnswer(Unavailable):
    """A file system hangs: nothing is known of what was requested, and asking again is of no use before it answers."""


class _Call:
    """One call on its way: what to do, and what became of it."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.done = threading.Event()
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Do it, in whatever thread."""
        try:
            self.result = self.work()
        except BaseException as error:  # noqa: BLE001  raised again in the caller's thread
            self.error = error
        self.done.set()


class BoundedCalls:
    """Runs calls of one file system. ``ask`` is a small question to it; it may hang, too. Safe between threads and
    after a fork.
    """

    def __init__(self, what: str, ask: Callable[[], Any], where: str = "") -> None:
        """``where``: its address, without a login."""
        self._what, self._ask, self._where = what, ask, f" ({where})" if where else ""
        self._forget_threads()
        _all.add(self)

    def _forget_threads(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[queue.SimpleQueue[_Call]] = []
        self._left: set[_Call] = set()
        self._question: _Call | None = None
        self._hangs_since = 0.0

    def run(self, work: Callable[[], T], seconds: float) -> T:
        """What ``work`` returns or raises. NoAnswer when it takes longer, or when the file system hangs already."""
        if self._hangs_since:
            self._check_again()
        call = _Call(work)
        self._start(call)
        if not call.done.wait(seconds):
            with self._lock:
                self._left.add(call)
                self._hangs_since = self._hangs_since or time.monotonic() - seconds
            raise self._unavailable(seconds)
        if call.error is not None:
            raise call.error
        result: T = call.result
        return result

    def _check_again(self) -> None:
        """Go on when what hung answers again; else NoAnswer, at once while the question to it hangs."""
        with self._lock:
            question = self._question
            is_new = question is None or question.done.is_set()
            if question is None or is_new:
                question = self._question = _Call(self._ask)
            self._left = {call for call in self._left if not call.done.is_set()}
            is_full = len(self._left) >= _MOST_LEFT
        if is_new:
            self._start(question)
        if is_full or not question.done.wait(_ASK_S if is_new else 0):
            raise self._unavailable(time.monotonic() - self._hangs_since)
        with self._lock:
            self._hangs_since = 0.0 if not self._left else self._hangs_since

    def _unavailable(self, seconds: float) -> NoAnswer:
        return NoAnswer(
            f"{self._what} has not answered for {seconds:.0f} s{self._where}.",
            remedy="Check that it is up; this is tried again.",
        )

    def _start(self, call: _Call) -> None:
        with self._lock:
            box = self._idle.pop() if self._idle else None
        if box is None:
            box = queue.SimpleQueue()
            threading.Thread(target=self._serve, args=(box,), name="file-system-call", daemon=True).start()
        box.put(call)

    def _serve(self, box: queue.SimpleQueue[_Call]) -> None:
        """A thread's life: one call after the other, until none came for a while; threads are as many as calls were at
        work at once.
        """
        while True:
            try:
                box.get(timeout=_IDLE_S).run()
            except queue.Empty:
                with self._lock:
                    if box in self._idle:
                        self._idle.remove(box)
                        return
                continue  # a call is on its way
            with self._lock:
                self._idle.append(box)


_all: Final[WeakSet[BoundedCalls]] = WeakSet()


def _after_fork() -> None:
    """Threads do not come along."""
    for calls in list(_all):
        calls._forget_threads()


os.register_at_fork(after_in_child=_after_fork)
