"""What a client may have the cluster read: configured schemes, hosts and roots, and what was checked is
what is read.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import ipaddress
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segments.clusters.pinot.engine import pinot_engine
from segments.domain.access.outgoing import is_forbidden
from segments.errors import InvalidInput, PayloadTooLarge, PinotAdminError, Unavailable
from segments.gateways.outgoing.fetch import FetchRules, check_address, fetch
from segments.services.core.context import Context
from segments.services.segments.upload_files import fetch_rules


class Handler(http.server.SimpleHTTPRequestHandler):
    """Files of a folder; /to/<address> redirects there; every Host header is noted."""

    hosts: list[str] = []

    def do_GET(self) -> None:
        Handler.hosts.append(str(self.headers["Host"]))
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path[4:])
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "s0").write_bytes(b"x" * 5000)
    Handler.hosts = []
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(tmp_path / "web"))
    )
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"localhost:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("address", "loopback", "forbidden"),
    [
        ("169.254.169.254", True, True),
        ("::ffff:169.254.169.254", True, True),
        ("64:ff9b::a9fe:a9fe", True, True),
        ("2002:a9fe:a9fe::1", True, True),
        ("fe80::1", True, True),
        ("0.0.0.0", True, True),
        ("::", True, True),
        ("224.0.0.1", True, True),
        ("255.255.255.255", True, True),
        ("127.0.0.1", False, True),
        ("127.9.9.9", False, True),
        ("::1", False, True),
        ("::ffff:127.0.0.1", False, True),
        ("127.0.0.1", True, False),
        ("::1", True, False),
        ("10.1.2.3", False, False),
        ("93.184.216.34", False, False),
        ("2606:2800:220:1::1", False, False),
    ],
)
def test_addresses_that_nobody_outside_may_make_us_call(address: str, loopback: bool, forbidden: bool) -> None:
    assert is_forbidden(ipaddress.ip_address(address), loopback=loopback) is forbidden


@pytest.mark.parametrize(
    "uri",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://2852039166/",  # the same number in decimal
        "http://0xa9fea9fe/",
        "http://0251.0376.0251.0376/",
        "http://[::ffff:169.254.169.254]/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://0/",
        "http://user:secret@localhost/s0",
        "http://localhost\\@evil/s0",
        "http://localhost:99999/",
        "http:///s0",
        "ftp://localhost/s0",
        "gopher://localhost/s0",
        "file:///etc/passwd",
        "file://localhost/etc/passwd",
        "/etc/passwd",
        "s3://bucket/s0",
        "",
    ],
)
def test_what_no_rule_allows_is_refused_before_anything_is_asked(uri: str, tmp_path: Path) -> None:
    for ask in (
        lambda: check_address(uri, FetchRules(loopback=True)),
        lambda: fetch(uri, tmp_path / "out", FetchRules(loopback=True)),
    ):
        with pytest.raises(InvalidInput):
            ask()
    assert not (tmp_path / "out").exists()


def test_a_plain_file_is_fetched_and_the_host_keeps_its_name(web: str, tmp_path: Path) -> None:
    assert fetch(f"http://{web}/s0", tmp_path / "out", FetchRules(loopback=True)) == 5000
    assert Handler.hosts == [web]


def test_a_host_that_changes_its_address_after_the_check_is_read_from_the_checked_one(
    web: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: the first resolution gives an allowed address, every later one the cloud's own."""
    asked: list[str] = []
    port = int(web.rpartition(":")[2])

    def look_up(host: str, *_: Any, **__: Any) -> list[tuple[Any, ...]]:
        asked.append(host)
        number = "127.0.0.1" if asked.count("rebind.example") == 1 or host == "127.0.0.1" else "169.254.169.254"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (number, port))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    assert fetch(f"http://rebind.example:{port}/s0", tmp_path / "out", FetchRules(loopback=True)) == 5000
    assert asked.count("rebind.example") == 1
    assert Handler.hosts == [f"rebind.example:{port}"]


@pytest.mark.parametrize(
    "to", ["http://169.254.169.254/", "file:///etc/passwd", "ftp://localhost/x", "//169.254.169.254/x", "gopher://x/"]
)
def test_a_redirect_is_checked_like_the_first_address(web: str, tmp_path: Path, to: str) -> None:
    with pytest.raises(InvalidInput):
        fetch(f"http://{web}/to/{to}", tmp_path / "out", FetchRules(loopback=True))
    assert len(Handler.hosts) == 1


def test_redirects_end_somewhere(web: str, tmp_path: Path) -> None:
    assert fetch(f"http://{web}/to/http://{web}/s0", tmp_path / "out", FetchRules(loopback=True)) == 5000
    with pytest.raises(InvalidInput, match="redirects more than"):
        fetch(f"http://{web}" + f"/to/http://{web}" * 8 + "/s0", tmp_path / "out", FetchRules(loopback=True))


def test_a_redirect_may_not_leave_the_configured_roots(web: str, tmp_path: Path) -> None:
    rules = FetchRules(roots=(f"http://{web}/to", f"http://{web}/sub"))
    with pytest.raises(InvalidInput, match="nothing configured"):
        fetch(f"http://{web}/to/http://{web}/s0", tmp_path / "out", rules)


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/segments/s0", True),
        ("/segments/a/s0", True),
        ("/segments2/s0", False),
        ("/", False),
        ("/segments/../s0", False),
    ],
)
def test_with_roots_only_what_lies_below_them_is_read(path: str, allowed: bool) -> None:
    rules = FetchRules(roots=("http://localhost:8080/segments/",))
    for uri, is_place in (
        (f"http://localhost:8080{path}", True),
        (f"http://localhost:8081{path}", False),
        (f"https://localhost{path}", False),
    ):
        if allowed and is_place:
            check_address(uri, rules)
        else:
            with pytest.raises(InvalidInput):
                check_address(uri, rules)
    for hidden in ("/segments/%2e%2e/s0", "/segments/a/%2E%2e%2f%2e%2e/s0", "/segments/a%00b"):
        with pytest.raises(InvalidInput):
            check_address(f"http://localhost:8080{hidden}", rules)


def test_too_many_bytes_or_seconds_end_it(web: str, tmp_path: Path) -> None:
    with pytest.raises(PayloadTooLarge, match="larger"):
        fetch(f"http://{web}/s0", tmp_path / "out", FetchRules(loopback=True, max_bytes=4999))
    with pytest.raises(Unavailable):
        fetch(f"http://{web}/s0", tmp_path / "out", FetchRules(loopback=True, timeout_s=0.0))
    with pytest.raises(InvalidInput, match="404"):
        fetch(f"http://{web}/nope", tmp_path / "out", FetchRules(loopback=True))


def test_a_local_root_gives_plain_files_below_it_and_nothing_else(tmp_path: Path) -> None:
    root, outside = tmp_path / "drop", tmp_path / "secret"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "s0").write_text("segment")
    outside.write_text("secret")
    (root / "link").symlink_to(outside)
    (root / "up").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    rules = FetchRules(roots=(f"file://{root}",))
    assert fetch(f"file://{root}/sub/s0", tmp_path / "out", rules) == 7
    for path in (
        "link",
        "up/secret",
        "pipe",
        "sub",
        "nope",
        "../secret",
        "%2e%2e/secret",
        "sub/%2e%2e/%2e%2e/secret",
        "",
    ):
        with pytest.raises(PinotAdminError):
            fetch(f"file://{root}/{path}", tmp_path / "none", rules)
    with pytest.raises(InvalidInput):
        fetch(f"file://{outside}", tmp_path / "none", rules)
    assert not (tmp_path / "none").exists()


def test_a_root_that_is_itself_a_link_works(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "s0").write_text("segment")
    (tmp_path / "root").symlink_to(tmp_path / "real")
    assert fetch(f"file://{tmp_path}/root/s0", tmp_path / "out", FetchRules(roots=(f"file://{tmp_path}/root",))) == 7


@pytest.mark.parametrize("uri", ["http://93.184.216.34/s0", "https://[2606:2800:220:1::1]/s0", "http://10.0.0.7/s0"])
def test_without_a_configured_root_no_other_machine_is_called(uri: str) -> None:
    with pytest.raises(InvalidInput, match="nothing configured allows it"):
        check_address(uri, FetchRules(loopback=True))
    check_address(uri, FetchRules(roots=(uri.removesuffix("/s0"),)))


@pytest.mark.parametrize("where", ["headers", "body"])
def test_a_server_that_sends_a_byte_now_and_then_does_not_hold_the_reader_for_ever(tmp_path: Path, where: str) -> None:
    stop = threading.Event()

    def drip() -> None:
        link, _ = server.accept()
        with link, contextlib.suppress(OSError):
            link.sendall(b"HTTP/1.1 200 OK\r\n" + (b"Content-Length: 9999\r\n\r\n" if where == "body" else b""))
            while not stop.wait(0.05):
                link.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        begin = time.monotonic()
        with pytest.raises(Unavailable, match="too long"):
            fetch(
                f"http://127.0.0.1:{server.getsockname()[1]}/s0",
                tmp_path / "out",
                FetchRules(loopback=True, timeout_s=0.6),
            )
        assert time.monotonic() - begin < 5
        stop.set()
        thread.join(5)


def test_a_file_that_breaks_off_is_no_file(tmp_path: Path) -> None:
    def cut() -> None:
        link, _ = server.accept()
        with link:
            link.recv(1000)
            link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\nhalf")

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=cut, daemon=True).start()
        with pytest.raises(Unavailable):
            fetch(f"http://127.0.0.1:{server.getsockname()[1]}/s0", tmp_path / "out", FetchRules(loopback=True))


def test_a_pinot_on_another_machine_is_not_sent_to_its_own_loopback(tmp_path: Path) -> None:
    here, there = (
        Context("c", None, None, lambda: 0, lambda: "", url, pinot_engine(object()))  # type: ignore[arg-type] # only read
        for url in ("http://localhost:9000", "http://pinot.example:9000")
    )
    assert fetch_rules(here).loopback
    assert not fetch_rules(there).loopback
