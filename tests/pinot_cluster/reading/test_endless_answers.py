"""A Pinot that never ends its answer, unpacks to too much or sends a byte now and then costs bounded
memory and time.
"""

from __future__ import annotations

import gzip
import itertools
import tracemalloc
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from segments.errors import OutcomeUnknown
from segments.gateways.pinot import PinotBroker, whole_answer
from segments.gateways.pinot.whole_answer import AnswerTooLarge
from tests.pinot_cluster.fake_rest import FakePinot, controller

MOST = 1 << 20


class Endless(httpx.SyncByteStream):
    """Sends for ever, and knows how much was taken."""

    def __init__(self, piece: bytes = b"x" * 65_536) -> None:
        self.piece, self.sent, self.is_closed = piece, 0, False

    def __iter__(self) -> Iterator[bytes]:
        for _ in itertools.count():
            self.sent += len(self.piece)
            yield self.piece

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_answer.read_whole, "__defaults__", (MOST,))


def pinot_with(stream: httpx.SyncByteStream, **headers: str) -> Any:
    answer = lambda _: httpx.Response(200, stream=stream, headers=headers)  # noqa: E731
    return controller(
        FakePinot(routes={("GET", "/tables"): answer, ("POST", "/sql"): answer, ("PUT", "/tables/t"): answer})
    )


def test_a_read_stops_at_the_limit_and_the_controller_can_still_be_used() -> None:
    endless = Endless()
    gateway = pinot_with(endless)
    tracemalloc.start()
    with pytest.raises(AnswerTooLarge, match=r"/tables has more than 1,048,576 bytes") as refused:
        gateway.get("/tables")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert refused.value.status == 503
    assert endless.sent <= MOST + 65_536
    assert endless.is_closed
    assert peak < 4 * MOST
    assert gateway.circuit().state == "up"
    assert gateway.version() == "1.2.0"


def test_a_query_says_so_among_its_exceptions() -> None:
    answer = PinotBroker(pinot_with(Endless())).query("select * from t")
    assert answer["exceptions"][0]["errorCode"] == 700
    assert "more than 1,048,576 bytes" in answer["exceptions"][0]["message"]


def test_a_change_whose_answer_never_ends_has_an_unknown_outcome() -> None:
    with pytest.raises(OutcomeUnknown, match="more than"):
        pinot_with(Endless()).send("PUT", "/tables/t", body={})


def test_what_an_answer_unpacks_to_counts() -> None:
    bomb = gzip.compress(bytes(64 * MOST))
    with pytest.raises(AnswerTooLarge):
        pinot_with(httpx.ByteStream(bomb), **{"content-encoding": "gzip"}).get("/tables")


def test_an_answer_that_drips_ends_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = itertools.count(0, 10.0)
    monkeypatch.setattr(whole_answer, "time", type("Clock", (), {"monotonic": staticmethod(lambda: next(now))}))
    drip = Endless(b"x")
    with pytest.raises(AnswerTooLarge, match="takes longer than 135 s"):
        pinot_with(drip).get("/tables", timeout=15.0)
    assert drip.sent < 20
