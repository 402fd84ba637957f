"""``python -m segments.processes.roles.shared_port FD ...``: uvicorn that listens at its own port, and at a socket that
several web processes share.

Their supervisor holds that socket: connections that nobody has accepted yet wait in it, also while a process is killed,
frozen or started again, and whoever is free takes the next one. What is sent to one process goes to its own port.
"""

from __future__ import annotations

import os
import socket
import sys
from typing import Any

import uvicorn
from uvicorn.config import Config
from uvicorn.main import main as uvicorn_command

from segments.processes.roles.parent import end_with_parent


def open_shared(host: str, port: int) -> socket.socket:
    """The socket, bound and not listening: that begins with the first process that is ready. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
    except OSError:
        made.close()
        raise
    return made


def main(arguments: list[str]) -> None:
    """Serve until a signal; ``arguments``: the descriptor, then uvicorn's own."""
    shared, *rest = arguments
    end_with_parent()
    given = uvicorn_command.make_context("uvicorn", rest).params
    options: dict[str, Any] = {name: given[name] for name in _TAKEN}
    config = Config(str(given["app"]), **options)
    server = uvicorn.Server(config)
    server.run(sockets=[config.bind_socket(), socket.socket(fileno=os.dup(int(shared)))])
    if not server.started:
        sys.exit(3)


#: Options that ``web_command`` gives.
_TAKEN = (
    "host", "port", "log_level", "access_log", "proxy_headers", "forwarded_allow_ips", "http", "timeout_keep_alive",
    "timeout_graceful_shutdown",
)  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
