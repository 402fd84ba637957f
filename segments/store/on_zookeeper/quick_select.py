"""kazoo's threads with a quick ``select``: its own makes and closes an epoll object for every single read and write of
the socket.

That is a third of what a request to ZooKeeper costs in Python, and it is spent under the interpreter's lock, in the way
of everybody else.
"""

from __future__ import annotations

import math
import select
from collections.abc import Sequence
from typing import Any, Final

from kazoo.handlers.threading import SequentialThreadingHandler

#: Hang-up and errors count as both, as in ``selectors``: the read or write that follows shows what it is.
_READABLE: Final = ~select.POLLOUT
_WRITABLE: Final = ~select.POLLIN


class QuickHandler(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo ships no types
    """kazoo's own handler but for ``select``."""

    def select(
        self, rlist: Sequence[Any], wlist: Sequence[Any], xlist: Sequence[Any], timeout: float | None = None
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """As ``select.select`` without its limit of 1,024 file descriptors; ``xlist`` is ignored, as in kazoo's
        own.
        """
        poll, reading, writing = select.poll(), {_fd(f): f for f in rlist}, {_fd(f): f for f in wlist}
        for fd in {*reading, *writing}:
            poll.register(fd, (select.POLLIN if fd in reading else 0) | (select.POLLOUT if fd in writing else 0))
        ready = poll.poll(None if timeout is None else math.ceil(max(0.0, timeout) * 1000))
        readable = [reading[fd] for fd, events in ready if fd in reading and events & _READABLE]
        return readable, [writing[fd] for fd, events in ready if fd in writing and events & _WRITABLE], []


def _fd(file: Any) -> int:
    fd = file if isinstance(file, int) else int(file.fileno())
    if fd < 0:
        raise TypeError(f"Invalid file descriptor: {fd}")
    return fd
