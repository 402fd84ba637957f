"""Real sockets: certificates, a server that closes connections, one that restarts; what a transport in memory cannot
show.
"""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from segments.errors import OutcomeUnknown
from segments.gateways.pinot import Connection, ControllerFault, HttpPinotController, Tls
from segments.gateways.pinot.circuit import Breaker
from tests.real_parts import free_port
from tests.waiting import wait_until


class Controller(BaseHTTPRequestHandler):
    """``/cluster/info`` and ``/version``; a POST is counted, and to ``/lost`` the connection is cut instead of an
    answer.
    """

    protocol_version = "HTTP/1.1"
    posts: int = 0
    status: int = 200

    def do_GET(self) -> None:
        self._answer(
            b'{"clusterName":"PinotCluster"}' if self.path == "/cluster/info" else b'{"pinot-controller":"1.2.0"}'
        )

    def do_POST(self) -> None:
        type(self).posts += 1
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/lost":
            self.close_connection = True
            self.connection.close()
            return
        self._answer(b'"done"')

    def _answer(self, body: bytes) -> None:
        self.send_response(self.status if self.path != "/cluster/info" else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Quiet."""


class Quiet(ThreadingHTTPServer):
    """A handshake that fails is no news."""

    daemon_threads = True

    def handle_error(self, *args: Any) -> None:
        """Quiet."""


def serve(port: int = 0, context: ssl.SSLContext | None = None, *, protocol: str = "HTTP/1.1") -> Quiet:
    server = Quiet(("127.0.0.1", port), type("Fresh", (Controller,), {"posts": 0, "protocol_version": protocol}))
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    return server


def stop(server: Quiet) -> None:
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1 with its key, in one file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed: it makes the certificates")
    folder = tmp_path_factory.mktemp("tls")
    command = [
        openssl,
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        str(folder / "key"),
        "-out",
        str(folder / "cert"),
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
    ]
    subprocess.run(command, check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_text((folder / "key").read_text() + (folder / "cert").read_text())
    return both


@pytest.fixture
def https(pem: Path) -> Iterator[Quiet]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    server = serve(context=context)
    yield server
    stop(server)


Open = Callable[..., HttpPinotController]


@pytest.fixture
def gateway() -> Iterator[Open]:
    """Opens gateways that are closed after the test."""
    with ExitStack() as closing:

        def opened(port: int | Quiet, scheme: str = "http", **more: Any) -> HttpPinotController:
            number = port if isinstance(port, int) else port.server_address[1]
            found = HttpPinotController(Connection("prod", (f"{scheme}://127.0.0.1:{number}",), **more))
            closing.callback(found.close)
            return found

        yield opened


def test_an_unknown_certificate_is_reported_and_a_known_one_is_taken(https: Quiet, pem: Path, gateway: Open) -> None:
    with pytest.raises(ControllerFault, match="certificate") as fault:
        gateway(https, "https").version()
    assert fault.value.state == "untrusted"
    assert gateway(https, "https", tls=Tls(ca=str(pem))).version() == "1.2.0"
    assert gateway(https, "https", tls=Tls(is_insecure=True)).version() == "1.2.0"


def test_a_tls_file_that_is_gone_is_reported(https: Quiet, tmp_path: Path, gateway: Open) -> None:
    with pytest.raises(ControllerFault, match="does not exist") as fault:
        gateway(https, "https", tls=Tls(ca=str(tmp_path / "gone.pem"))).version()
    assert fault.value.state == "untrusted"


def test_a_client_certificate_that_is_asked_for_is_sent(pem: Path, gateway: Open) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(pem)
    server = serve(context=context)
    assert gateway(server, "https", tls=Tls(ca=str(pem), cert=str(pem))).version() == "1.2.0"
    with pytest.raises(ControllerFault) as fault:
        gateway(server, "https", tls=Tls(ca=str(pem))).version()
    assert fault.value.state == "untrusted"
    stop(server)


def test_plain_http_where_https_is_spoken_is_no_crash(https: Quiet, gateway: Open) -> None:
    with pytest.raises(ControllerFault):
        gateway(https).version()


def test_https_where_plain_http_is_spoken_is_reported(gateway: Open) -> None:
    server = serve()
    with pytest.raises(ControllerFault) as fault:
        gateway(server, "https").version()
    assert fault.value.state == "untrusted"
    stop(server)


def test_a_change_whose_connection_is_cut_was_sent_once(gateway: Open) -> None:
    server = serve()
    with pytest.raises(OutcomeUnknown):
        gateway(server).send("POST", "/lost", body={"a": 1})
    assert server.RequestHandlerClass.posts == 1  # type: ignore[attr-defined]
    stop(server)


def test_a_restart_loses_no_read_and_no_change_once_it_is_back(gateway: Open) -> None:
    port = free_port()
    server = serve(port, protocol="HTTP/1.0")  # no connection outlives it
    link = gateway(port)
    assert link.version() == "1.2.0"
    stop(server)
    with pytest.raises(ControllerFault):
        link.get("/version")
    assert link.circuit().state == "down"
    server = serve(port)

    def is_back() -> bool:
        try:
            return bool(link.get("/version"))
        except ControllerFault:
            return False

    wait_until(is_back, 60)
    assert link.send("POST", "/x") == "done"
    assert link.circuit().state == "up"
    stop(server)


def test_many_refusals_use_up_no_connections(gateway: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve()
    monkeypatch.setattr(server.RequestHandlerClass, "status", 503)
    link = gateway(server, read_s=5.0)
    link._sleep = lambda _: None
    for _ in range(40):  # more than a client opens at once
        link._breaker = Breaker("prod")
        with pytest.raises(ControllerFault, match="answered 503"):
            link.get("/version")
    monkeypatch.setattr(server.RequestHandlerClass, "status", 200)
    link._breaker = Breaker("prod")
    assert link.version() == "1.2.0"
    stop(server)


def test_a_silent_controller_is_given_up_after_the_time_allowed(gateway: Open) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(ControllerFault, match="in time"):
            gateway(silent.getsockname()[1], read_s=0.3).get("/version")
