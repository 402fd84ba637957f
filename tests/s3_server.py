"""An S3 server (moto) for tests, as a process of its own, and a front before it that answers wrongly on request.

moto wants other versions of some packages than what it is tested with, so it lies in a folder of its own within the
virtual environment (``make`` puts it there, from requirements-s3.lock).
"""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow.fs as pafs

from tests.real_parts import free_port
from tests.waiting import wait_until

PACKAGES = Path(sys.prefix) / "s3-server"
KEYS = {"AWS_ACCESS_KEY_ID": "test-access-key", "AWS_SECRET_ACCESS_KEY": "test-secret-key", "AWS_REGION": "us-east-1"}
_CODE = "import sys; from moto.server import main; main(sys.argv[1:])"


@dataclass
class StoreServer(ABC):
    """A server that speaks a store's protocol, as a process of its own at ``url``."""

    port: int
    process: subprocess.Popen[bytes] = field(repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @abstractmethod
    def files(self) -> pafs.FileSystem:
        """As its administrator."""

    def put(self, path: str, data: bytes) -> None:
        with self.files().open_output_stream(path) as out:
            out.write(data)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


class S3Server(StoreServer):
    """Of S3."""

    @property
    def settings(self) -> dict[str, str]:
        """The environment of what uses it as the installation's store."""
        return {**KEYS, "AWS_ENDPOINT_URL": self.url, "AWS_EC2_METADATA_DISABLED": "true"}

    def files(self) -> pafs.S3FileSystem:
        """As its administrator."""
        return pafs.S3FileSystem(
            access_key="admin", secret_key="admin", region="us-east-1", allow_bucket_creation=True,
            endpoint_override=f"127.0.0.1:{self.port}", scheme="http",
        )  # fmt: skip

    def make_bucket(self, name: str) -> None:
        self.files().create_dir(name)

    def files_below(self, path: str) -> list[str]:
        """Paths of all files there; [] when there is no such folder."""
        found = self.files().get_file_info(pafs.FileSelector(path, recursive=True, allow_not_found=True))
        return [info.path for info in found if info.type == pafs.FileType.File]


def start_s3() -> S3Server:
    assert PACKAGES.is_dir(), f"there is no S3 server in {PACKAGES}: run 'make {PACKAGES.parent.name}/.s3-server'"
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-c", _CODE, "-H", "127.0.0.1", "-p", str(port)],
        env={**os.environ, "PYTHONPATH": str(PACKAGES), "MOTO_S3_CUSTOM_ENDPOINTS": "", "PYTHONWARNINGS": "ignore"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    server = S3Server(port, process)

    wait_for_port(port)
    return server


def wait_for_port(port: int) -> None:
    """Until a server of this machine takes connections."""

    def answers() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    wait_until(answers, 60)


#: What a front does instead of handing a request on: gets method, path, and the count of such requests so far.
Fault = Callable[[str, str], str | None]


class Front:
    """Hands requests on to a server; ``fault`` says for each what goes wrong: "403", "404", "503", "hang", "cut"."""

    def __init__(self, server: S3Server) -> None:
        self.server, self.fault = server, self._none
        self.seen: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()
        front = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                front.answer(self)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _answer

            def log_message(self, format: str, *args: object) -> None:
                """Silent."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.port = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    @staticmethod
    def _none(method: str, path: str) -> str | None:
        return None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        body = _body(request)
        self.seen.append((request.command, request.path))
        self.headers.append(dict(request.headers))
        fault = self.fault(request.command, request.path)
        if fault == "hang":
            self.released.wait(30)
            request.close_connection = True
            return
        if fault in ("403", "404", "503", "500"):
            request.send_response(int(fault))
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        link = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        headers = {k: v for k, v in request.headers.items() if k.lower() not in ("transfer-encoding", "expect")}
        link.request(request.command, request.path, body, {**headers, "Content-Length": str(len(body))})
        answer = link.getresponse()
        data = answer.read()
        request.send_response(answer.status)
        for key, value in answer.getheaders():
            if key.lower() not in ("transfer-encoding", "connection", "content-length", "date", "server"):
                request.send_header(key, value)
        length = answer.getheader("Content-Length") if request.command == "HEAD" else str(len(data))
        request.send_header("Content-Length", length or "0")
        request.end_headers()
        request.wfile.write(data[: len(data) // 2] if fault == "cut" else data)
        request.close_connection = request.close_connection or fault == "cut"
        link.close()


def _body(request: BaseHTTPRequestHandler) -> bytes:
    """The client of S3 sends parts in chunks."""
    if request.headers.get("Transfer-Encoding", "").lower() != "chunked":
        return request.rfile.read(int(request.headers.get("Content-Length") or 0))
    found = b""
    while size := int(request.rfile.readline().split(b";")[0], 16):
        found += request.rfile.read(size)
        request.rfile.readline()
    while request.rfile.readline().strip():
        """Trailers."""
    return found


@contextmanager
def front_of(server: S3Server) -> Iterator[Front]:
    front = Front(server)
    try:
        yield front
    finally:
        front.stop()


def times(count: int, fault: str, *, method: str = "GET", of: str = "") -> Fault:
    """The fault for the first requests of a method whose path holds ``of``; then none."""
    left = [count]

    def choose(asked: str, path: str) -> str | None:
        if asked != method or of not in path or left[0] <= 0:
            return None
        left[0] -= 1
        return fault

    return choose


def until_next_second() -> None:
    """S3 counts times of change in seconds."""
    wait_until(lambda: time.time() % 1 < 0.1, 3)
