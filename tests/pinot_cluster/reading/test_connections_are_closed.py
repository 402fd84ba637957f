"""No connection to a controller outlives its use: also when it is closed in the middle of an answer, or requested
later.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from segments.gateways.pinot import Connection, ControllerFault, Credentials, HttpPinotController
from tests.waiting import wait_until


class Controller(ThreadingHTTPServer):
    """Knows how many connections are open; holds back every answer but that to /version until ``go`` is set."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.go, self.asked = threading.Event(), threading.Event()
        self.open = 0
        self.lock = threading.Lock()
        self.status = 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Answer(BaseHTTPRequestHandler):
    server: Controller
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        with self.server.lock:
            self.server.open += 1
        super().setup()

    def finish(self) -> None:
        super().finish()
        with self.server.lock:
            self.server.open -= 1

    def do_GET(self) -> None:
        if self.path == "/cluster/info":
            body = b'{"clusterName": "PinotCluster"}'
        else:
            self.server.asked.set()
            self.server.go.wait(60)
            body = b'{"is": "late"}'
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Controller]:
    with Controller() as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield found
        found.go.set()
        found.shutdown()
        thread.join(30)


def in_a_thread(act: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    said: list[object] = []
    thread = threading.Thread(target=lambda: said.append(act()))
    thread.start()
    return thread, said


def test_an_answer_under_way_is_read_to_its_end_after_closing_and_then_nothing_is_open(server: Controller) -> None:
    gateway = HttpPinotController(Connection("prod", (server.url,)))
    asking, said = in_a_thread(lambda: gateway.get("/slow"))
    assert server.asked.wait(30)
    gateway.close()
    server.go.set()
    asking.join(30)
    assert said == [{"is": "late"}]
    wait_until(lambda: server.open == 0, 30.0, "every connection is closed")


def test_what_is_asked_after_closing_is_answered_and_leaves_nothing_open(server: Controller) -> None:
    server.go.set()
    gateway = HttpPinotController(Connection("prod", (server.url,)))
    assert gateway.get("/slow") == {"is": "late"}
    assert server.open == 1  # kept for the next request
    gateway.close()
    assert gateway.get("/slow") == {"is": "late"}
    wait_until(lambda: server.open == 0, 30.0, "every connection is closed")


def test_refused_credentials_end_no_answer_of_others_and_leave_nothing_open(server: Controller) -> None:
    gateway = HttpPinotController(
        Connection("prod", (server.url,), credentials=lambda: Credentials("basic", "ann", "x"))
    )
    asking, said = in_a_thread(lambda: gateway.get("/slow"))
    assert server.asked.wait(30)
    server.status = 401
    gateway._verified.clear()
    with pytest.raises(ControllerFault):
        gateway.send("GET", "/other")
    server.status = 200
    server.go.set()
    asking.join(30)
    assert said == [{"is": "late"}]
    gateway.close()
    wait_until(lambda: server.open == 0, 30.0, "every connection is closed")
