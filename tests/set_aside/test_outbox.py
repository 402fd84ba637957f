"""What a server does with messages on their way to the web process: bounded, on disk, in order, once answered gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from segments.dataplane.server.set_aside import outbox as outboxes
from segments.dataplane.server.set_aside.outbox import MOST_MESSAGES, Outbox
from segments.domain.set_aside import Message, Report, Settled
from segments.errors import InvalidInput, Unavailable
from tests.dataplane.world import poll


class Web:
    """Where reports go; ``fault`` may raise in its place."""

    def __init__(self) -> None:
        self.reports: list[tuple[str, Report]] = []
        self.fault: Callable[[], None] = lambda: None

    def send(self, table: str, body: bytes) -> None:
        self.fault()
        self.reports.append((table, msgspec.json.decode(body, type=Report)))

    def close(self) -> None:
        """Nothing to end."""

    @property
    def offsets(self) -> list[str]:
        return [m.offset for _, report in self.reports for m in report.messages]

    @property
    def dropped(self) -> int:
        return sum(report.dropped for _, report in self.reports)


def away() -> None:
    raise Unavailable("The database is away.")


def message(number: int, payload: bytes = b"{oops") -> Message:
    return Message("topic", 0, str(number), "s", 1, 1, "", "no JSON", len(payload), payload)


@pytest.fixture
def web() -> Web:
    return Web()


@pytest.fixture
def start(tmp_path: Path, web: Web) -> Iterator[Callable[[], Outbox]]:
    """Starts an outbox on the same folder, as a restarted server does."""
    begun: list[Outbox] = []

    def begin() -> Outbox:
        box = Outbox(tmp_path / "box", "Server_1", web, round_s=0.01)
        begun.append(box)
        box.start()
        return box

    yield begin
    for box in begun:
        box.stop()


def test_messages_arrive_in_order_and_nothing_is_left_on_disk(
    start: Callable[[], Outbox], web: Web, tmp_path: Path
) -> None:
    box = start()
    box.add("r_REALTIME", [message(n) for n in range(2_500)])
    box.settle("r_REALTIME", Settled("topic", 0, "0", "9", ["1"]))
    poll(lambda: any(report.settled for _, report in web.reports), what="the last report")
    assert web.offsets == [str(n) for n in range(2_500)]
    assert [len(report.messages) for _, report in web.reports][:2] == [1_000, 1_000]
    poll(lambda: not list((tmp_path / "box").glob("*/*.json")), what="an empty spool")


def test_while_the_web_process_is_unreachable_everything_waits_on_disk_and_survives_a_restart(
    start: Callable[[], Outbox], web: Web
) -> None:
    web.fault = away
    box = start()
    box.add("r_REALTIME", [message(1), message(2, b"\xff\x00binary")])
    box.flush()
    box.stop()
    web.fault = lambda: None
    start()
    poll(lambda: web.offsets == ["1", "2"], what="what the process before had written")
    assert web.reports[0][1].messages[1].payload == b"\xff\x00binary"


def test_a_flood_fills_neither_memory_nor_disk_and_what_was_dropped_is_counted(
    start: Callable[[], Outbox], web: Web, tmp_path: Path
) -> None:
    web.fault = away
    box = start()
    began = time.monotonic()
    for batch in range(10):
        box.add("r_REALTIME", [message(batch * 10_000 + n, b"x" * 100) for n in range(10_000)])
    assert time.monotonic() - began < 2, "whoever consumes does not wait for the outbox"
    box.add("other_REALTIME", [message(7)])
    box.flush()
    size = sum(path.stat().st_size for path in (tmp_path / "box").rglob("*") if path.is_file())
    assert size < 1_000 * MOST_MESSAGES
    web.fault = lambda: None
    poll(lambda: web.dropped + len(web.offsets) == 100_001, what="every message kept or counted")
    assert len(web.offsets) == MOST_MESSAGES + 1
    assert [m.offset for table, report in web.reports if table == "other_REALTIME" for m in report.messages] == ["7"]


def test_a_report_that_is_refused_for_good_is_counted_and_stops_no_other(start: Callable[[], Outbox], web: Web) -> None:
    refused = threading.Event()

    def once() -> None:
        if not refused.is_set():
            refused.set()
            raise InvalidInput("no")

    web.fault = once
    box = start()
    box.add("r_REALTIME", [message(1)])
    poll(refused.is_set, what="the refusal")
    box.add("r_REALTIME", [message(2)])
    poll(lambda: (web.offsets, web.dropped) == (["2"], 1), what="the next report, with the count")


def test_a_disk_that_takes_nothing_stops_nothing(
    start: Callable[[], Outbox], web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = start()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(outboxes.Spool, "write", full)
        box.add("r_REALTIME", [message(n) for n in range(MOST_MESSAGES + 5)])
        box.flush()
    box.flush()
    poll(lambda: len(web.offsets) == MOST_MESSAGES and web.dropped == 5, what="what memory held")
