"""A controller that answers what the mirror asks, in a process of its own: its znodes are in memory, or it only reports
its name.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from typing import Any

import httpx

from segments.domain.formats.znrecord import encode
from tests.pinot_cluster.fake_rest import FakePinot


class FakeController:
    """``url`` once started. ``put`` writes a znode, ``calls`` counts the requests so far, by path."""

    def __init__(self, cluster: str) -> None:
        self._pipe, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.get_context("spawn").Process(target=_serve, args=(cluster, theirs), daemon=True)
        self._process.start()
        self.url = f"http://127.0.0.1:{self._pipe.recv()}"

    def put(self, nodes: Iterable[tuple[str, bytes]]) -> None:
        """Write these znodes."""
        self._ask("put", list(nodes))

    def calls(self) -> dict[str, int]:
        """{path: times}."""
        found: dict[str, int] = self._ask("calls", None)
        return found

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.join(10)

    def _ask(self, word: str, value: Any) -> Any:
        self._pipe.send((word, value))
        return self._pipe.recv()


def _serve(cluster: str, pipe: Connection) -> None:
    pinot = FakePinot(cluster=cluster)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            answer = pinot.handle(httpx.Request("GET", f"http://fake{self.path}"))
            self.send_response(answer.status_code)
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *args: Any) -> None:
            """Quiet."""

    import threading

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    pipe.send(server.server_address[1])
    while True:
        try:
            word, value = pipe.recv()
        except EOFError:
            return
        if word == "put":
            for path, data in value:
                pinot.store.put_raw(path, data)
        pipe.send(dict(pinot.calls))


def record(value: Any) -> bytes:
    """A record's bytes."""
    return encode(value)
