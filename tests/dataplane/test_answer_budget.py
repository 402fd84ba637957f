"""What servers answer is counted before it is in memory: one that never ends, one that announces too much, many at
once.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from segments.dataplane import query_bounds
from segments.dataplane.broker.fan_out import FanOut
from segments.dataplane.broker.progress import Least
from segments.dataplane.broker.routing import ServerRef
from segments.dataplane.broker.server_health import ServerHealth
from segments.errors import PinotAdminError, Rejected, Unavailable
from segments.gateways.answer_budget import AnswerBudget
from segments.gateways.servers import HttpServers, QueryReply

MOST = 1 << 20


class Odd:
    """A program at a server's port that answers every request with ``head``, then sends for ever."""

    def __init__(self, head: bytes, piece: bytes) -> None:
        self.head, self.piece, self.sent = head, piece, 0
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._door.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._answer, args=(self._door.accept()[0],), daemon=True).start()

    def _answer(self, asker: socket.socket) -> None:
        with asker, suppress(OSError):
            asker.recv(65_536)
            asker.sendall(self.head)
            while True:
                asker.sendall(self.piece)
                self.sent += len(self.piece)

    def close(self) -> None:
        self._door.close()


@pytest.fixture(
    params=[b"Transfer-Encoding: chunked\r\n\r\n", b"Content-Length: 99999999999\r\n\r\n"], ids=["endless", "announced"]
)
def odd(request: Any) -> Iterator[Odd]:
    made = Odd(b"HTTP/1.1 200 OK\r\n" + request.param, b"10000\r\n" + b"x" * 65_536 + b"\r\n")
    yield made
    made.close()


def test_an_answer_is_read_up_to_the_room_that_there_is(odd: Odd) -> None:
    servers = HttpServers("a-secret-of-some-length")
    with pytest.raises(Rejected, match=r"more than 1,048,576 bytes.*raise X") as refused:
        servers.query(odd.url, {}, 30.0, room=AnswerBudget(MOST, "Ask for less, or raise X."))
    assert refused.value.data["error_code"] == 700
    assert odd.sent < 32 * MOST, "what the system's buffers take"
    servers.close()


def test_the_parts_of_one_query_share_their_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_bounds, "_current", query_bounds.QueryBounds(answer_bytes=100))

    class Three:
        def query(
            self, url: str, request: Any, timeout_s: float, *, is_patient: bool, room: AnswerBudget
        ) -> QueryReply:
            room.take(150)
            return QueryReply(b"x" * 150)

    fan_out = FanOut(Three(), ServerHealth())  # type: ignore[arg-type]  # only this is asked
    whole = {f"s{n}": (ServerRef(f"Server_{n}", "1", f"http://{n}"),) for n in range(3)}
    none = Least()
    found = fan_out.gather({}, dict(list(whole.items())[:2]), time.monotonic() + 5, none, lambda _, s: s[0])
    assert sum(map(len, found.parts)) == 300
    with pytest.raises(Rejected, match=r"more than 400 bytes.*PINOTADMIN_QUERY_MAX_ANSWER_BYTES"):
        fan_out.gather({}, whole, time.monotonic() + 5, none, lambda _, s: s[0])
    fan_out.close()


def test_what_no_query_asks_for_is_bounded_too() -> None:
    with pytest.raises(Unavailable) as refused:
        AnswerBudget(5).take(6)
    assert isinstance(refused.value, PinotAdminError)
