"""Runs the ASGI application on a port of its own in a thread, so that the process's main thread stays
free for signals.
"""

from __future__ import annotations

import socket
import threading
import time
from typing import Final

import uvicorn
from starlette.applications import Starlette

from segments.answer_headers import DATA_HEADERS
from segments.errors import Unavailable
from segments.gateways.http_connections import BoundedHttp
from segments.gateways.tls.certificate import Certificate

#: Connections of brokers stay open between queries.
_KEEP_ALIVE_S: Final = 120
_BACKLOG: Final = 512


class HttpEndpoint:
    """A listening socket and the server behind it. Port 0 takes a free one; ``port`` says which. With a ``certificate``
    it speaks TLS, and nothing else.
    """

    def __init__(self, host: str, port: int, certificate: Certificate | None = None) -> None:
        self._certificate = certificate
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # With the protocol named, asyncio switches Nagle's algorithm off on accepted connections; without, answers wait
        # 40 ms.
        self._socket = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((host, port))
        except OSError as error:
            self._socket.close()
            raise Unavailable(
                f"Port {port} of {host} cannot be used: {error.strerror}.", remedy="Take another --admin-port."
            ) from error
        self.port = int(self._socket.getsockname()[1])
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    def start(self, app: Starlette, timeout_s: float = 20.0) -> None:
        """Serve; returns when requests are answered. InvalidInput for a certificate that cannot be read."""
        tls = self._certificate.context() if self._certificate is not None else None
        config = uvicorn.Config(
            app,
            http=BoundedHttp,
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            backlog=_BACKLOG,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=2,
            server_header=False,
            headers=list(DATA_HEADERS.items()),
            # Who asks is who connects: a header of the request could name any address, and attempts to guess are
            # counted by address.
            proxy_headers=False,
            ssl_context_factory=(lambda *_: tls) if tls is not None else None,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="http", daemon=True
        )
        self._thread.start()
        deadline = time.monotonic() + timeout_s
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise Unavailable(f"The HTTP endpoint on port {self.port} did not start.", remedy="See the log.")
            time.sleep(0.005)

    def stop(self) -> None:
        """Finish what runs, close everything."""
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(timeout=10.0)
        self._socket.close()
