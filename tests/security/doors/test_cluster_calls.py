"""Processes of the cluster at the web process, over a real socket: what they may call, and that nobody else can ask or
answer for them.
"""

from __future__ import annotations

import hashlib
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from segments import wiring
from segments.api.urls import urlpatterns
from segments.dataplane.server.held.download import Downloader
from segments.dataplane.server.held.peer_download import ClusterFiles
from segments.dataplane.server.web_processes import WebProcesses
from segments.domain.access.cluster_signature import ANSWER_HEADER, SEAL_HEADER
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.errors import InvalidInput, NotFound, Unavailable
from segments.gateways.controller_protocol import NOT_SENT, HttpController, Report
from segments.gateways.deep_store.deepstore import DeepStore
from segments.gateways.signed_calls import CallSigner
from segments.names import TableName
from segments.services.segments.addresses import recorded_address
from segments.services.segments.segments import record_json
from segments.store.memory import MemoryStore
from tests.api.cluster import ApiCluster, served
from tests.security.sizes.test_bodies import Web
from tests.signed import Signed

SECRET = "the secret of this cluster, long and random"
REPORT = Report("t__0__0__20260101T0000Z", "Server_127.0.0.1_8098", "5")
#: Methods of views that the cluster itself may call. Whoever adds one here says that no data can name a request that
#: does harm.
FOR_CLUSTER = {
    ("CompletionMessage", "GET"),
    ("CommitEnd", "POST"),
    ("SegmentUpload", "POST"),
    ("OneSegment", "GET"),
    ("SetAside", "POST"),
    ("UploadReingested", "POST"),
    ("RunningQueriesView", "GET"),
    ("OneRunningQuery", "DELETE"),
}


@pytest.fixture
def table(tmp_path: Path, transactional_db: None, settings: Any) -> Iterator[ApiCluster]:
    settings.ALLOWED_HOSTS = ["*"]
    settings.CLUSTER_SECRET = SECRET
    with served(tmp_path) as made:
        yield made.create()


@pytest.fixture
def web(table: ApiCluster, settings: Any) -> Iterator[str]:
    made = Web()
    settings.HOST, settings.PORT = "127.0.0.1", made.port
    yield wiring.own_url()
    made.close()


@contextmanager
def fake(*answers: tuple[int, dict[str, str], bytes]) -> Iterator[tuple[str, list[str]]]:
    """A program that took the controller's port: its address, and the paths that were requested. It answers in turn,
    then the last.
    """
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            status, headers, body = answers[min(len(asked), len(answers)) - 1]
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()


def views() -> set[tuple[str, str]]:
    """(view, method) of everything that says it is for the cluster."""
    found = set()
    waiting = list(urlpatterns)
    while waiting:
        pattern: Any = waiting.pop()
        waiting += getattr(pattern, "url_patterns", [])
        view = getattr(getattr(pattern, "callback", None), "view_class", None)
        found |= {(view.__name__, method) for method in getattr(view, "for_cluster", ())}
    return found


def test_the_cluster_may_call_what_is_listed_here_and_nothing_else(web: str) -> None:
    assert views() == FOR_CLUSTER
    refused = [
        ("GET", "/tables"),
        ("GET", "/periodictask/run?taskname=RetentionManager"),
        ("POST", "/schemas"),
        ("DELETE", "/tables/t"),
        ("DELETE", "/segments/t/s"),
        ("POST", "/query/sql"),
        ("GET", "/metrics"),
        ("GET", "/api/v1/tokens"),
        ("POST", "/v2/segments"),
        ("GET", "/clusters/other/segmentConsumed"),
        ("GET", "/clusters/other/periodictask/run"),
    ]
    for method, path in refused:
        answer = httpx.request(method, web + path, auth=Signed(SECRET))
        assert answer.status_code in (403, 404), (method, path, answer.text)
        if answer.status_code == 404:
            assert "other" in path


def test_the_secret_itself_is_no_credential(web: str) -> None:
    assert httpx.get(f"{web}/segmentConsumed", headers={"Authorization": f"Bearer {SECRET}"}).status_code == 401


def test_a_message_is_answered_to_who_signed_it_and_the_answer_is_signed(web: str) -> None:
    controller = HttpController([web], CallSigner(SECRET))
    assert controller.consumed(Report("", "Server_127.0.0.1_8098", "5")).status == "FAILED"  # it names no segment
    answer = httpx.get(f"{web}/segmentConsumed", auth=Signed(SECRET))
    assert len(answer.headers[ANSWER_HEADER]) == 64
    controller.close()
    foreign = HttpController([web], CallSigner("another secret"))
    assert foreign.consumed(REPORT).status == NOT_SENT
    foreign.close()


def test_a_large_upload_is_taken_with_the_very_body_that_was_signed(
    web: str, tmp_path: Path, table: ApiCluster
) -> None:
    """Its head is checked before the body comes in, the body against the signature behind it."""
    tar = tmp_path / "segment.tar.gz"
    tar.write_bytes(b"x" * 3_000_000)
    controller = HttpController([web], CallSigner(SECRET))
    answer = controller.upload(REPORT, tar)
    controller.close()
    assert answer.status == "FAILED"  # no such table: decided by the view, which read it
    signed = next(
        Signed(SECRET).auth_flow(httpx.Request("POST", f"{web}/segmentUpload?name=x", content=b"a" * 200_000))
    )
    swapped = httpx.post(signed.url, content=b"b" * 200_000, headers={"Authorization": signed.headers["Authorization"]})
    assert (swapped.status_code, "not the one that was signed" in swapped.text) == (401, True)


def test_a_captured_message_counts_once(web: str) -> None:
    request = next(Signed(SECRET).auth_flow(httpx.Request("GET", f"{web}/segmentConsumed?name=a")))
    with httpx.Client() as client:
        assert client.send(request).status_code == 200
        again = client.send(request)
    assert (again.status_code, "was sent before" in again.text) == (401, True)


def test_who_answers_in_the_controllers_place_is_not_believed() -> None:
    commit = b'{"status": "DISCARD", "streamPartitionMsgOffset": "5"}'
    with fake((200, {ANSWER_HEADER: "0" * 64}, commit)) as (url, asked):
        assert answer_from(url) == NOT_SENT
    with fake((200, {}, commit)) as (url, asked):
        assert answer_from(url) == NOT_SENT
        assert len(asked) == 1


def answer_from(url: str) -> str:
    controller = HttpController([url], CallSigner(SECRET))
    try:
        return controller.consumed(REPORT).status
    finally:
        controller.close()


def test_a_file_comes_from_the_controller_whole_or_not_at_all(web: str, tmp_path: Path, table: ApiCluster) -> None:
    content = bytes(range(256)) * 9000
    table.ctx.deep_store.write(table.ctx.deep_store.segment_path("t", "s 1"), content)
    url, files = f"{web}/segments/t/s%201", files_of(web)
    assert files.from_web(url, tmp_path / "got") == len(content)
    assert (tmp_path / "got").read_bytes() == content
    with pytest.raises(NotFound):
        files.from_web(f"{web}/segments/t/other", tmp_path / "got")
    with pytest.raises(Unavailable, match="answers 401"):
        files_of(web, "another secret").from_web(url, tmp_path / "got")
    plain = httpx.get(url, auth=("root", "a long enough secret"))
    assert (plain.content == content, SEAL_HEADER in plain.headers) == (True, False)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({}, b"a segment"),
        ({SEAL_HEADER: "32"}, b"a segment" + hashlib.sha256(b"a segment").digest()),
        ({SEAL_HEADER: "32"}, b"short"),
    ],
)
def test_a_file_of_somebody_else_is_not_kept(tmp_path: Path, headers: dict[str, str], body: bytes) -> None:
    with fake((200, headers, body)) as (url, _):
        for fetch in (
            lambda files: files.from_peer(f"{url}/segments/t_OFFLINE/s?crc=1&compression=lz4", tmp_path / "got"),
            lambda files: files.from_web(f"{url}/segments/t/s", tmp_path / "got"),
        ):
            with pytest.raises(Unavailable, match="does not"):
                fetch(files_of(url))
            assert not (tmp_path / "got").exists()


def test_a_signature_follows_no_redirect(tmp_path: Path) -> None:
    with fake((200, {}, b"")) as (elsewhere, asked), fake((302, {"Location": f"{elsewhere}/stolen"}, b"")) as (url, _):
        with pytest.raises(Unavailable, match="answers 302"):
            files_of(url).from_peer(f"{url}/segments/t/s", tmp_path / "got")
        assert asked == []


@pytest.mark.parametrize(
    "path",
    [
        "/periodictask/run?taskname=RetentionManager",
        "/segments/t/s?taskname=x",
        "/segments/t/s/../../../periodictask/run",
        "/segments/other/s",
        "/segments/t/other",
        "/segments/t/s/",
        "//segments/t/s",
        "/segmentConsumed?name=x",
        "/segments/t/s;x",
        "/clusters/p/segments/t/s",
        "",
        "/segments/t%2Fs/s",
        "/segments/t/%2E%2E/s",
    ],
)
def test_of_the_controller_nothing_is_asked_but_the_file_of_the_very_segment(tmp_path: Path, path: str) -> None:
    """The record's address is what a METADATA push gave."""
    with fake((200, {}, b"done")) as (url, asked):
        downloader = Downloader(DeepStore(f"file://{tmp_path}/deepstore"), files_of(url))
        with pytest.raises(InvalidInput, match="not that of the file of segment 's'"):
            downloader.fetch(url + path, "t_OFFLINE", "s", 1, tmp_path / "got")
        assert asked == []


def test_the_address_on_record_for_a_segment_of_ours_is_asked_of_a_web_process(
    web: str, tmp_path: Path, table: ApiCluster
) -> None:
    address = recorded_address(table.ctx, TableName("t", "OFFLINE"), "s", 1)
    shown = record_json(SegmentMetadata("s", {"segment.download.url": address}))
    assert shown["segment.download.url"].endswith("/segments/t/s")
    with fake((404, {}, b"")) as (other, asked):
        with pytest.raises(NotFound):
            Downloader(DeepStore(f"file://{tmp_path}/deepstore"), files_of(other)).fetch(
                address, "t_OFFLINE", "s", 1, tmp_path / "got"
            )
        assert asked == ["/segments/t/s"]


def files_of(web: str, secret: str = SECRET) -> ClusterFiles:
    return ClusterFiles(WebProcesses(MemoryStore(), [web]), CallSigner(secret))
