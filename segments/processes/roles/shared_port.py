"""The socket at which several web processes of a host listen. While none of them does, who connects is refused at once,
as where there is one process: a proxy or client that knows other hosts goes on there, instead of waiting for a start.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final

from segments.processes.roles.web_port import open_socket

#: Seconds that a process has to take a connection at its own port; the kernel does that for it.
_CONNECT_S: Final = 0.5
#: Connections that wait to be accepted, as in uvicorn.
_BACKLOG: Final = 2_048


class SharedPort:
    """Opened where it is made, which raises OSError when the port is in use. ``own_ports``: those at which each of the
    processes listens, before it listens here.
    """

    def __init__(self, host: str, port: int, own_ports: Sequence[int]) -> None:
        self._host, self._own_ports = host, tuple(own_ports)
        self._socket, self._lock = open_socket(host, port), threading.Lock()

    @property
    def descriptor(self) -> int:
        """For the processes that listen at it."""
        return self._socket.fileno()

    def refuse_unless_answered(self) -> bool:
        """To be called when a process ended. Is there another one? If not, connections that wait are reset, and others
        refused until a process listens again.
        """
        with self._lock:
            if self._is_answered():
                return True
            with suppress(OSError):  # nobody listened yet
                self._socket.shutdown(socket.SHUT_RDWR)
            if not self._is_answered():
                return False
            self._socket.listen(_BACKLOG)  # one began in between
            return True

    def _is_answered(self) -> bool:
        for port in self._own_ports:
            with suppress(OSError):
                socket.create_connection((self._host, port), _CONNECT_S).close()
                return True
        return False

    def close(self) -> None:
        """The port is free, once the processes have ended, too."""
        self._socket.close()

    def __enter__(self) -> SharedPort:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
