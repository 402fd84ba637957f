"""Reports over HTTP: signed so that the web process takes them, and believed only when the answer is signed, too."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from segments.domain.access.cluster_signature import ANSWER_HEADER, digest_of
from segments.errors import InvalidInput, Unavailable
from segments.gateways.set_aside_reports import HttpReports
from segments.gateways.signed_calls import CallSigner, CallVerifier

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


@pytest.fixture
def web() -> Iterator[Web]:
    made = Web()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def reports(web: Web) -> Iterator[HttpReports]:
    """Of two addresses the first is dead."""
    made = HttpReports(["http://127.0.0.1:1", f"{web.url}/"], CallSigner(SECRET), timeout_s=5.0)
    yield made
    made.close()


def test_a_report_reaches_the_web_process_that_answers(web: Web, reports: HttpReports) -> None:
    reports.send("odd name_REALTIME", b'{"id": "1"}')
    assert web.taken == [("/api/v1/tables/odd%20name_REALTIME/set-aside", b'{"id": "1"}')]


@pytest.mark.parametrize(
    ("status", "is_signed", "error"),
    [
        (400, True, InvalidInput),
        (404, True, InvalidInput),
        (404, False, Unavailable),
        (200, False, Unavailable),
        (401, True, Unavailable),
        (500, True, Unavailable),
        (503, False, Unavailable),
    ],
)
def test_only_a_signed_refusal_is_one_for_good(
    web: Web, reports: HttpReports, status: int, is_signed: bool, error: type[Exception]
) -> None:
    web.status, web.is_signed = status, is_signed
    with pytest.raises(error):
        reports.send("r_REALTIME", b"{}")
