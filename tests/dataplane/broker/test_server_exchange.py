"""A request to a server goes out in one piece, and every form of answer that HTTP allows is understood."""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Iterator
from threading import Thread

import pytest

from segments.errors import Unavailable
from segments.gateways.answer_budget import AnswerBudget
from segments.gateways.server_exchange import Answered, receive, send

URL = "http://Server-1:8098"


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Ours and the server's."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(5.0)
        theirs.settimeout(5.0)
        yield ours, theirs


def answered(ends: tuple[socket.socket, socket.socket], *pieces: bytes, most: int = 1 << 30) -> Answered:
    """What is understood when the server sends these pieces one by one and then leaves."""
    ours, theirs = ends

    def serve() -> None:
        for piece in pieces:
            theirs.sendall(piece)
            time.sleep(0.005)  # the pace of the sender: each piece arrives alone
        theirs.shutdown(socket.SHUT_WR)

    sender = Thread(target=serve, daemon=True)
    sender.start()
    try:
        return receive(ours, AnswerBudget(most), time.monotonic() + 5)
    finally:
        sender.join(5)


def test_a_request_is_one_piece_with_its_length_and_host(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    send(ours, URL, "POST", "/query?a=1", {"Authorization": "x"}, b'{"sql": 1}')
    assert theirs.recv(65_536) == (
        b'POST /query?a=1 HTTP/1.1\r\nHost: server-1:8098\r\nContent-Length: 10\r\nAuthorization: x\r\n\r\n{"sql": 1}'
    )


@pytest.mark.parametrize(
    ("target", "value"),
    [
        ("/a b", ""),
        ("/a\r\nX: 1", ""),
        ("/a\x00", ""),
        ("/a\x7f", ""),
        ("/a", "1\r\nX: 2"),
        ("/a", "1\n2"),
        ("/a", "\r"),
    ],
)
def test_a_target_or_header_that_would_be_two_is_not_sent(
    ends: tuple[socket.socket, socket.socket], target: str, value: str
) -> None:
    with pytest.raises(http.client.InvalidURL):
        send(ends[0], URL, "GET", target, {"A": value}, b"")
    ends[0].shutdown(socket.SHUT_WR)
    assert ends[1].recv(10) == b""


PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-PinotAdmin-Answer: abc \r\n\r\nhello"


def test_an_answer_is_read_whole_in_whatever_pieces_it_comes(ends: tuple[socket.socket, socket.socket]) -> None:
    found = answered(ends, *(PLAIN[i : i + 1] for i in range(len(PLAIN))))
    assert (found.status, found.content, found.stays_open) == (200, b"hello", True)
    assert found.headers["x-pinotadmin-answer"] == "abc"


@pytest.mark.parametrize(
    ("head", "body", "content", "stays_open"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", b"hello", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close", b"hello", b"hello", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5", b"hello and more", b"hello", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 5", b"hello", b"hello", False),
        (b"HTTP/1.1 200 OK\r\nX: 1\r\nX: 2\r\nContent-Length: 5", b"hello", b"hello", True),
        (b"HTTP/1.1 100 Continue\r\nX: 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5", b"hello", b"hello", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5", b"helloHTTP/1.1 200 OK\r\n\r\n", b"hello", False),
        (b"HTTP/1.1 200 OK", b"until the end", b"until the end", False),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 5", b"", b"", True),
        (b"HTTP/1.1 503\r\nContent-Length: 4", b"wait", b"wait", True),
    ],
)
def test_every_form_of_answer_is_understood(
    ends: tuple[socket.socket, socket.socket], head: bytes, body: bytes, content: bytes, stays_open: bool
) -> None:
    found = answered(ends, head + b"\r\n\r\n" + body)
    assert (found.content, found.stays_open) == (content, stays_open)


def test_a_large_answer_is_read_whole(ends: tuple[socket.socket, socket.socket]) -> None:
    body = bytes(range(256)) * 20_000
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    assert answered(ends, head + body[:1000], body[1000:]).content == body


def test_more_than_there_is_room_for_is_refused_by_the_head_alone(ends: tuple[socket.socket, socket.socket]) -> None:
    with pytest.raises(Unavailable, match="more than 4 bytes"):
        answered(ends, PLAIN, most=4)


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        (b"", http.client.RemoteDisconnected),
        (b"HTTP/1.1 200 OK\r\nContent-Le", http.client.HTTPException),
        (PLAIN[:-1], http.client.HTTPException),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", http.client.BadStatusLine),
        (b"HTTP/1.1 200 OK\r\nX: 1\r\n folded\r\n\r\n", http.client.HTTPException),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", http.client.HTTPException),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", http.client.HTTPException),
        (b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 70_000 + b"\r\n\r\n", http.client.HTTPException),
    ],
)
def test_what_is_no_answer_is_a_fault_of_the_connection(
    ends: tuple[socket.socket, socket.socket], sent: bytes, fault: type[Exception]
) -> None:
    with pytest.raises(fault):
        answered(ends, sent)
