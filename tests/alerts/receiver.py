"""A receiver of webhooks on this machine, and an installation's settings that lead to it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Receiver:
    """Takes POSTs and answers with ``status``; with ``silent`` it answers nothing before that is set."""

    url: str = ""
    status: int = 200
    taken: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    silent: threading.Event | None = None

    @property
    def events(self) -> list[dict[str, Any]]:
        """What came, in order."""
        return [json.loads(body) for _, body in self.taken]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver while the block runs."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if receiver.silent is not None:
                receiver.silent.wait(60)
            receiver.taken.append((dict(self.headers), body))
            self.send_response(receiver.status)
            self.send_header("Location", "http://169.254.169.254/")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield receiver
    finally:
        if receiver.silent is not None:
            receiver.silent.set()
        server.shutdown()
        server.server_close()
