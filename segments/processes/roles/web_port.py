"""``python -m segments.processes.roles.web_port FD|alone ...``: uvicorn that listens at its own port, over TLS where it
has a certificate, and at a socket that several web processes share.

Their supervisor holds that socket: connections that nobody has accepted yet wait in it, also while a process is killed,
frozen or started again, and whoever is free takes the next one; without any process it refuses them
(``shared_port``). What is sent to one process goes to its own port.
"""

from __future__ import annotations

import os
import socket
import sys
from typing import Any, Final

import uvicorn
from uvicorn.config import Config
from uvicorn.main import main as uvicorn_command

from segments.errors import InvalidInput
from segments.gateways.tls.certificate import Certificate
from segments.processes.roles.parent import end_with_parent

#: Instead of the descriptor: there is no such socket.
ALONE: Final = "alone"


def open_socket(host: str, port: int) -> socket.socket:
    """A socket, bound and not listening: that begins with the first process that is ready. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio switches Nagle's algorithm off on accepted connections.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
    except OSError:
        made.close()
        raise
    return made


def main(arguments: list[str]) -> None:
    """Serve until a signal; ``arguments``: the descriptor or ``alone``, then uvicorn's own."""
    shared, *rest = arguments
    end_with_parent()
    given = uvicorn_command.make_context("uvicorn", rest).params
    options: dict[str, Any] = {name: given[name] for name in _TAKEN}
    try:
        tls = Certificate(given["ssl_certfile"], given["ssl_keyfile"]).context() if given["ssl_certfile"] else None
        sockets = [open_socket(options["host"], options["port"])]
    except InvalidInput as error:
        sys.exit(f"error: {error}")
    except OSError as error:
        sys.exit(f"error: port {options['port']} of {options['host']} cannot be listened at: {error.strerror}")
    if shared != ALONE:
        sockets.append(socket.socket(fileno=os.dup(int(shared))))
    config = Config(str(given["app"]), **options, ssl_context_factory=(lambda *_: tls) if tls is not None else None)
    server = uvicorn.Server(config)
    server.run(sockets=sockets)
    if not server.started:
        sys.exit(3)


#: Options that ``web_command`` gives.
_TAKEN = (
    "host", "port", "log_level", "access_log", "proxy_headers", "forwarded_allow_ips", "http", "timeout_keep_alive",
    "timeout_graceful_shutdown",
)  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
