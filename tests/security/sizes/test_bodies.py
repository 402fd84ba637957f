"""Bodies over a real socket: who may not send one is refused before it is read, and what is read is bounded in bytes,
time and number.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from django.contrib.auth.models import User
from django.test import Client

from pinotadmin import body_reader
from pinotadmin.handler import ThreadedHandler
from pinotadmin.thread_limits import ThreadLimits
from segments.api import body_gate
from segments.errors import TooManyRequests
from segments.gateways import http_connections
from segments.gateways.http_connections import BoundedHttp
from segments.models import Grant
from tests.api.cluster import ApiCluster, FakeBroker, basic, served
from tests.waiting import wait_until

ROOT = basic("root", "a long enough secret")
GIB = 1 << 30


class Web:
    """The web process's handler behind a real uvicorn, in a thread."""

    def __init__(self) -> None:
        self.server = uvicorn.Server(
            uvicorn.Config(
                _http_only(ThreadedHandler()), port=0, log_level="critical", lifespan="off", http=BoundedHttp
            )
        )
        self._thread = threading.Thread(target=self.server.run, daemon=True)
        self._thread.start()
        wait_until(lambda: self.server.started, 20)
        self.port = self.server.servers[0].sockets[0].getsockname()[1]

    def close(self) -> None:
        self.server.should_exit = True
        self._thread.join(20)

    def begin(self, method: str, path: str, body: bytes = b"", **headers: str) -> socket.socket:
        """Send a head and what is there of a body; the caller reads the answer."""
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: 127.0.0.1:{self.port}",
            *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items()),
        ]
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        return connection

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, dict[str, str], Any]:
        """Status, headers in lower case, JSON or bytes of the answer."""
        with closing(self.begin(method, path, body, **headers)) as connection:
            return answer_of(connection)


def answer_of(connection: socket.socket) -> tuple[int, dict[str, str], Any]:
    response = http.client.HTTPResponse(connection)
    response.begin()
    content = response.read()
    headers = {k.lower(): v for k, v in response.getheaders()}
    return (
        response.status,
        headers,
        json.loads(content) if headers.get("content-type") == "application/json" else content,
    )


def _http_only(handler: ThreadedHandler) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await handler(dict(scope), receive, send)

    return app


@pytest.fixture
def table(tmp_path: Path, transactional_db: None, settings: Any) -> Iterator[ApiCluster]:
    settings.ALLOWED_HOSTS = ["*"]
    with served(tmp_path) as made:
        yield made.create()


@pytest.fixture
def web(table: ApiCluster) -> Iterator[Web]:
    made = Web()
    yield made
    made.close()


ANNOUNCED = {"Content_Type": "multipart/form-data; boundary=x", "Content_Length": str(GIB)}
CHUNKED = {"Content_Type": "multipart/form-data; boundary=x", "Transfer_Encoding": "chunked"}


@pytest.mark.parametrize("body", [ANNOUNCED, CHUNKED, {**ANNOUNCED, "Content_Length": "10"}])
@pytest.mark.parametrize(
    "credentials", [{}, {"Authorization": basic("root", "wrong")}, {"Cookie": "sessionid=nonsense"}]
)
def test_who_is_not_known_gets_401_before_a_byte_of_the_body_is_sent(
    web: Web, body: dict[str, str], credentials: dict[str, str]
) -> None:
    for path in ("/v2/segments?tableName=t", "/segmentUpload", "/tables", "/api/v1/pushes", "/clusters/test/schemas"):
        status, headers, said = web.ask("POST", path, **body, **credentials)
        assert (status, headers["connection"]) == (401, "close"), (path, said)
        assert "basic" in headers["www-authenticate"].lower()


def test_a_query_of_someone_unknown_is_refused_unread(web: Web) -> None:
    head = {"Content_Type": "application/json", "Content_Length": str(1 << 20)}
    assert web.ask("POST", "/query/sql", **head, Authorization=basic("root", "wrong"))[0] == 401
    assert web.ask("POST", "/query/sql", **head)[0] == 401


def test_who_waits_for_100_continue_is_refused_without_it(web: Web) -> None:
    with closing(web.begin("POST", "/v2/segments?tableName=t", **ANNOUNCED, Expect="100-continue")) as connection:
        assert connection.recv(12) == b"HTTP/1.1 401"


def test_who_may_gets_100_continue(web: Web) -> None:
    with closing(
        web.begin("POST", "/v2/segments?tableName=t", **ANNOUNCED, Expect="100-continue", Authorization=ROOT)
    ) as connection:
        assert connection.recv(12) == b"HTTP/1.1 100"


def test_a_right_is_asked_before_the_body_is_read(web: Web, table: ApiCluster) -> None:
    table.as_user("reader")
    reader = {"Authorization": basic("reader", "a long enough secret")}
    assert web.ask("POST", "/v2/segments?tableName=t&tableType=OFFLINE", **ANNOUNCED, **reader)[0] == 403
    assert web.ask("POST", "/v2/segments", **ANNOUNCED, **reader)[0] == 403
    assert web.ask("POST", "/ingestFromFile?tableNameWithType=t_OFFLINE", **ANNOUNCED, **reader)[0] == 403
    Grant.objects.create(user=User.objects.get(username="reader"), cluster="*", tables="other", right="administer")
    assert web.ask("POST", "/v2/segments?tableName=t&tableType=OFFLINE", **ANNOUNCED, **reader)[0] == 403
    assert web.ask("POST", "/ingestFromFile?tableNameWithType=t_OFFLINE", **ANNOUNCED, **reader)[0] == 403
    with closing(web.begin("POST", "/v2/segments", **ANNOUNCED, Expect="100-continue", **reader)) as connection:
        assert connection.recv(12) == b"HTTP/1.1 100", "which table it is, only the tar tells"


def test_a_refusal_without_its_body_is_on_record_once_and_one_attempt(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[str] = []
    check = User.check_password
    monkeypatch.setattr(
        User, "check_password", lambda user, password: (checks.append(password), check(user, password))[1]
    )
    assert web.ask("POST", "/tables", **ANNOUNCED, Authorization=basic("root", "wrong"))[0] == 401
    assert checks == ["wrong"]


def test_a_body_that_is_longer_than_its_route_takes_is_413_at_once(web: Web, settings: Any) -> None:
    settings.MAX_BODY_BYTES = 1000
    settings.MAX_UPLOAD_BYTES = 1 << 29
    for path in ("/tables", "/v2/segments?tableName=t", "/ingestFromFile?tableNameWithType=t_OFFLINE"):
        status, headers, said = web.ask("POST", path, **ANNOUNCED, Authorization=ROOT)
        assert (status, headers["connection"]) == (413, "close")
        assert "takes at most" in said["error"]
        assert said["remedy"]


def test_a_body_in_chunks_is_counted_while_it_comes(web: Web, settings: Any) -> None:
    settings.MAX_BODY_BYTES = 100_000
    chunk = b"%x\r\n%s\r\n" % (60_000, b" " * 60_000)
    status, _, said = web.ask("POST", "/tables", chunk * 3, Authorization=ROOT, Transfer_Encoding="chunked")
    assert (status, "more than 100000 bytes" in said["error"]) == (413, True)


def test_a_login_form_is_small(web: Web) -> None:
    assert web.ask("POST", "/login/", b"username=a", Content_Length="10")[0] in (200, 403)
    assert web.ask("POST", "/login/", Content_Length=str(1 << 20))[0] == 413


def test_a_page_takes_more_of_who_is_logged_in(web: Web, table: ApiCluster) -> None:
    client = Client()
    client.force_login(User.objects.get(username="root"))
    cookie = f"sessionid={client.cookies['sessionid'].value}"
    body = b"a=" + b"b" * 200_000
    head = {"Content_Type": "application/x-www-form-urlencoded", "Content_Length": str(len(body))}
    assert web.ask("POST", "/console/queries/", body, **head, Cookie=cookie)[0] in (403, 404), (
        "no CSRF token: read, and refused by Django"
    )
    assert web.ask("POST", "/console/queries/", body, **head)[0] == 413


def test_a_body_that_stops_is_given_up(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_reader, "_IDLE_S", 0.3)
    for path, length in (("/tables", 100), ("/query/sql", 100), ("/query/sql", 100_000)):
        status, _, said = web.ask("POST", path, b"{", Content_Length=str(length), Authorization=ROOT)
        assert (status, "too slowly" in said["error"]) == (408, True)


def test_a_body_that_trickles_is_given_up(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_reader, "_PATIENCE_S", 0.2)
    began = time.monotonic()
    with closing(web.begin("POST", "/tables", b"{", Content_Length="100000", Authorization=ROOT)) as connection:
        connection.settimeout(0.05)

        def answered() -> bytes:
            try:
                connection.sendall(b" ")
                return connection.recv(12)
            except TimeoutError:
                return b""

        assert wait_until(answered, 10) == b"HTTP/1.1 408"
    assert time.monotonic() - began < 10


def test_large_bodies_of_one_user_at_once_are_bounded(web: Web, settings: Any) -> None:
    settings.MAX_UPLOADS_PER_USER = 2
    head = {**ANNOUNCED, "Expect": "100-continue"}
    under_way = [web.begin("POST", "/v2/segments?tableName=t", **head, Authorization=ROOT) for _ in range(2)]
    assert [c.recv(12) for c in under_way] == [b"HTTP/1.1 100"] * 2
    status, headers, said = web.ask("POST", "/v2/segments?tableName=t", **ANNOUNCED, Authorization=ROOT)
    assert (status, headers["retry-after"]) == (429, "5")
    assert "PINOTADMIN_MAX_UPLOADS_PER_USER" in said["error"]
    for connection in under_way:
        connection.close()

    def is_taken() -> bool:
        with closing(web.begin("POST", "/v2/segments?tableName=t", **head, Authorization=ROOT)) as connection:
            return connection.recv(12) == b"HTTP/1.1 100"

    wait_until(is_taken, 10)


def test_bytes_of_all_uploads_and_the_disk_are_bounded(web: Web, settings: Any) -> None:
    settings.MAX_UPLOADS_BYTES = GIB - 1
    status, headers, _ = web.ask("POST", "/v2/segments?tableName=t", **ANNOUNCED, Authorization=ROOT)
    assert (status, "retry-after" in headers) == (429, True)
    settings.MAX_UPLOADS_BYTES, settings.KEPT_FREE_BYTES = 10 * GIB, 1 << 60
    status, _, said = web.ask("POST", "/v2/segments?tableName=t", **ANNOUNCED, Authorization=ROOT)
    assert (status, "Make room" in said["error"]) == (503, True)


def test_an_upload_goes_to_disk_and_leaves_nothing_there(
    web: Web, table: ApiCluster, settings: Any, tmp_path: Path
) -> None:
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    settings.FILE_UPLOAD_TEMP_DIR = str(folder)
    tar = table.build("s0", 5).read_bytes()
    head = b'--x\r\nContent-Disposition: form-data; name="s0"; filename="s0"\r\n\r\n'
    body = head + tar + b"\r\n--x--\r\n"
    address = "/v2/segments?tableName=t&tableType=OFFLINE"
    kind = "multipart/form-data; boundary=x"
    status, _, said = web.ask(
        "POST", address, body, Content_Type=kind, Content_Length=str(len(body)), Authorization=ROOT
    )
    assert (status, said["status"]) == (200, "Successfully uploaded segment: s0 of table: t_OFFLINE")
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    assert (
        web.ask("POST", address, chunked, Content_Type=kind, Transfer_Encoding="chunked", Authorization=ROOT)[0] == 200
    )
    assert list(folder.iterdir()) == []


def test_small_requests_and_large_ones_within_bounds_are_answered_as_before(web: Web) -> None:
    for size in (10, 70_000, 2_000_000):
        body = json.dumps({"sql": "select 1 -- " + "x" * size}).encode()
        status, _, said = web.ask("POST", "/query/sql", body, Content_Length=str(len(body)), Authorization=ROOT)
        assert (status, said["asked"][:8]) == (200, "select 1")


def test_turns_are_shared_by_sender_and_bounded() -> None:
    async def scenario() -> list[str]:
        turns, seen = ThreadLimits(at_once=2, waiting=1, in_all=4), []
        await turns.begin(b"ann")
        await turns.begin(b"ann")
        third = asyncio.create_task(turns.begin(b"ann"))
        await asyncio.sleep(0)
        with pytest.raises(TooManyRequests, match="3 requests of yours"):
            await turns.begin(b"ann")
        await turns.begin(b"bob")
        with pytest.raises(TooManyRequests, match="4 in all"):
            await turns.begin(b"eve")
        assert not third.done()
        turns.end(b"ann")
        await third
        for name in (b"ann", b"ann", b"bob"):
            turns.end(name)
        seen.append(str(turns._of))
        return seen

    assert asyncio.run(scenario()) == ["{}"]


@pytest.mark.parametrize("first", [b"", b"\r\n", b"POST /tables HTTP/1.1\r\nHost: x\r\n"])
def test_a_head_that_does_not_come_is_given_up(web: Web, monkeypatch: pytest.MonkeyPatch, first: bytes) -> None:
    monkeypatch.setattr(http_connections, "HEAD_S", 0.3)
    with closing(socket.create_connection(("127.0.0.1", web.port), timeout=20)) as connection:
        connection.sendall(first)
        assert connection.recv(1) == b""


def test_a_head_after_an_answered_request_is_given_up_too(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(web.begin("GET", "/health")) as connection:
        assert answer_of(connection)[0] == 200
        monkeypatch.setattr(http_connections, "HEAD_S", 0.3)
        connection.sendall(b"\r\n")
        assert connection.recv(1) == b""


def test_headers_without_an_end_are_431(web: Web) -> None:
    with closing(socket.create_connection(("127.0.0.1", web.port), timeout=20)) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nX-Long: " + b"a" * (http_connections.MOST_BYTES + 1))
        assert connection.recv(12) == b"HTTP/1.1 431"


def test_a_connection_serves_many_requests_one_after_the_other(web: Web) -> None:
    body = json.dumps({"sql": "select 1"}).encode()
    with closing(
        web.begin("POST", "/query/sql", body, Content_Length=str(len(body)), Authorization=ROOT)
    ) as connection:
        for _ in range(3):
            assert answer_of(connection)[0] == 200
            head = (
                f"POST /query/sql HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {ROOT}\r\nContent-Length: "
                f"{len(body)}\r\n\r\n"
            )
            connection.sendall(head.encode() + body)
        assert answer_of(connection)[0] == 200


def test_an_answer_that_takes_longer_than_a_head_may_is_waited_for(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connections, "HEAD_S", 0.2)
    go_on, query = threading.Event(), FakeBroker.query
    monkeypatch.setattr(FakeBroker, "query", lambda self, sql, options: (go_on.wait(20), query(self, sql, options))[1])
    body = json.dumps({"sql": "select 1"}).encode()
    with closing(
        web.begin("POST", "/query/sql", body, Content_Length=str(len(body)), Authorization=ROOT)
    ) as connection:
        connection.settimeout(1.0)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        connection.settimeout(20)
        go_on.set()
        assert answer_of(connection)[0] == 200


def test_whose_turn_it_is_is_remembered_without_what_they_sent(settings: Any) -> None:
    def of(*headers: tuple[bytes, bytes]) -> bytes | None:
        return body_gate.sender({"headers": list(headers), "client": ("192.0.2.1", 5)})

    basic_, cookie = (b"authorization", b"Basic c2VjcmV0"), (b"cookie", b"a=b; sessionid=secret; c=d")
    assert of(basic_) == of(basic_) != of((b"authorization", b"Basic other"))
    assert of(cookie) == of((b"cookie", b"sessionid=secret"))
    assert of() == b"192.0.2.1"
    for found in (of(basic_), of(cookie)):
        assert found is not None
        assert len(found) == 16
        assert b"secret" not in found
