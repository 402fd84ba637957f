"""Hundreds of connections that send a byte now and then stop nobody: on the web port and on a server's, with real
sockets.
"""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from segments.dataplane.server.http.http_endpoint import HttpEndpoint
from segments.gateways import http_connections
from tests.waiting import wait_until

MOST = 100
MANY = 300


async def _answer(request: Request) -> PlainTextResponse:
    return PlainTextResponse("here")


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """As servers and, by the same protocol, the web process listen."""
    monkeypatch.setattr(http_connections, "OF_ADDRESS", MOST)
    endpoint = HttpEndpoint("127.0.0.1", 0)
    endpoint.start(Starlette(routes=[Route("/", _answer)]))
    yield endpoint.port
    endpoint.stop()


def ask(connection: http.client.HTTPConnection) -> int:
    connection.request("GET", "/")
    answer = connection.getresponse()
    answer.read()
    return answer.status


def opened(port: int, stack: ExitStack, first: bytes) -> list[socket.socket]:
    """Many connections that send the beginning of a request."""
    found = []
    for _ in range(MANY):
        one = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
        with suppress(OSError):
            one.sendall(first)
        found.append(one)
    return found


def still_open(connections: list[socket.socket]) -> int:
    def is_open(one: socket.socket) -> bool:
        one.settimeout(0.0)
        try:
            while one.recv(65_536):
                pass
            return False
        except BlockingIOError:
            return True
        except OSError:
            return False

    return sum(map(is_open, connections))


@pytest.mark.parametrize(
    "first", [b"", b"G", b"GET / HTTP/1.1\r\nX: "], ids=["silent", "a byte", "a head that does not end"]
)
def test_who_waits_longest_is_closed_and_who_asks_is_answered(port: int, first: bytes) -> None:
    with ExitStack() as stack:
        slow = opened(port, stack, first)
        began = time.monotonic()
        for _ in range(3):
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as quick:
                assert ask(quick) == 200
        assert time.monotonic() - began < 10
        wait_until(lambda: still_open(slow) <= MOST or None, 20)
        assert still_open(slow) > MOST // 2, "no more than that are closed"


def test_connections_that_were_answered_count_while_they_are_idle_and_are_used_again(port: int) -> None:
    with ExitStack() as stack:
        kept = stack.enter_context(closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)))
        assert ask(kept) == 200
        slow = opened(port, stack, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_until(lambda: still_open(slow) <= MOST or None, 20)
        kept.close()
        assert ask(kept) == 200, "a new connection of the same client"


def test_a_busy_connection_is_never_closed_for_others() -> None:
    closed: list[str] = []
    waiting = http_connections.Waiting(2, 3)

    def connection(name: str) -> Callable[..., None]:
        return type(name, (), {"give_up": lambda self: closed.append(name)})()  # type: ignore[no-any-return]

    a, b, c, d, e = map(connection, "abcde")
    waiting.add(a, "1")  # type: ignore[arg-type]  # all that is asked of one
    waiting.remove(a)  # type: ignore[arg-type]  # it is being answered
    for one, address in ((b, "1"), (c, "1"), (d, "1")):
        waiting.add(one, address)  # type: ignore[arg-type]
    assert closed == ["b"]
    waiting.add(e, "2")  # type: ignore[arg-type]
    waiting.add(a, "3")  # type: ignore[arg-type]
    assert closed == ["b", "c"], "in all"
