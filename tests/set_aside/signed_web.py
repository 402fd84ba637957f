"""A web process that checks calls of servers as ours does, and signs its answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from segments.domain.access.cluster_signature import ANSWER_HEADER, digest_of
from segments.gateways.signed_calls import CallVerifier

SECRET = "the cluster's own"


class Web(ThreadingHTTPServer):
    """Checks requests as the web process does, and answers with ``status``, signed or not."""

    status, is_signed = 200, True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.verifier = CallVerifier(SECRET, f"127.0.0.1:{self.server_port}", began_ms=0)
        self.taken: list[tuple[str, bytes]] = []


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        web = self.server
        assert isinstance(web, Web)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        call = web.verifier.verify(self.headers["Authorization"], "POST", self.path)
        call.check_body(digest_of(body))
        web.taken.append((self.path, body))
        self.send_response(web.status)
        if web.is_signed:
            self.send_header(ANSWER_HEADER, call.sign_answer(web.status, digest_of(b"{}")))
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Not on the terminal."""


@contextmanager
def running_web() -> Iterator[Web]:
    """One on a free port, until the end of the block."""
    made = Web()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        made.shutdown()
        thread.join()
        made.server_close()
