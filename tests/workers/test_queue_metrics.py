"""What /metrics says of the queues, of beat and of requests."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from celery import Celery
from prometheus_client.registry import Collector
from redis import Redis

from pinotadmin.celery import app
from segments import wiring
from segments.domain.jobs.workers.pools import PASSES, REPAIRS
from segments.gateways.worker_status import WorkerStatus, shared
from segments.management.elected_beat import ElectedScheduler
from segments.metrics.exposition import RecordedValues, render
from segments.metrics.metric_kinds import CONTROL
from segments.metrics.request_times import Timed
from segments.services.metrics.installation import Queues
from tests.streams.conftest import valkey

__all__ = ["valkey"]


@pytest.fixture
def board(valkey: int) -> WorkerStatus:
    client = Redis(port=valkey, db=8)
    client.flushdb()
    return WorkerStatus(client, "pinotadmin")


def _lines(collector: Collector) -> dict[str, float]:
    found = (line.rpartition(" ") for line in render(collector).decode().splitlines())
    return {name: float(value) for name, _, value in found if name.startswith("pinotadmin_")}


def test_a_queue_shows_how_many_tasks_wait_and_for_how_long_the_oldest_does(board: WorkerStatus, valkey: int) -> None:
    assert app.main == "pinotadmin"  # its signal notes when a task is queued
    sender, before = Celery(broker=f"redis://127.0.0.1:{valkey}/8"), wiring.clock_ms()
    for task in ("first", "second", "third"):
        sender.send_task(task, queue=REPAIRS.queue)
    lines = _lines(Queues(board, wiring.clock_ms() + 60_000))
    assert lines['pinotadmin_queued_tasks{pool="repairs"}'] == 3
    most = 61 + (wiring.clock_ms() - before) / 1000
    assert 60 <= lines['pinotadmin_queued_task_oldest_seconds{pool="repairs"}'] <= most
    assert lines['pinotadmin_queued_tasks{pool="passes"}'] == 0
    assert lines['pinotadmin_queued_task_oldest_seconds{pool="passes"}'] == 0
    _, since = board.read_queue(REPAIRS.queue)
    Redis(port=valkey, db=8).rpop(REPAIRS.queue)  # as a worker takes it
    _, later = board.read_queue(REPAIRS.queue)
    assert since is not None
    assert later is not None
    assert later >= since


def test_a_message_that_does_not_say_since_when_it_waits_has_no_time(board: WorkerStatus, valkey: int) -> None:
    Redis(port=valkey, db=8).lpush(PASSES.queue, '{"headers": {}}')
    lines = _lines(Queues(board, 0))
    assert lines['pinotadmin_queued_tasks{pool="passes"}'] == 1
    assert 'pinotadmin_queued_task_oldest_seconds{pool="passes"}' not in lines


def test_nothing_is_shown_while_redis_does_not_answer() -> None:
    assert _lines(Queues(shared("redis://127.0.0.1:1/0", "none"), 0)) == {}


def test_the_beat_that_has_the_role_notes_that_it_works(board: WorkerStatus, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "pinotadmin_beat_last_tick_seconds" not in _lines(Queues(board, 0))
    monkeypatch.setattr(wiring, "worker_board", lambda: board)
    monkeypatch.setattr(wiring, "clock_ms", lambda: 100_000)
    monkeypatch.setattr(ElectedScheduler.__base__, "tick", lambda *_: 5.0)
    monkeypatch.setattr(ElectedScheduler, "__init__", lambda *_: None)
    beat: Any = ElectedScheduler()
    for is_mine, expected in ((False, None), (True, 7.0)):
        monkeypatch.setattr(ElectedScheduler, "_ask", lambda _, is_mine=is_mine: is_mine)
        assert beat.tick() == 1.0
        assert _lines(Queues(board, 107_000)).get("pinotadmin_beat_last_tick_seconds") == expected


@pytest.mark.parametrize(
    ("path", "status", "asked"),
    [
        ("/query/sql", 200, "query"), ("/segmentConsumed", 200, "completion"), ("/segmentStoppedConsuming", 503,
        "completion"), ("/segments/t/reload", 404, "api"), ("/api/v1/audit", 200, "api"), ("/", 302, "page"),
        ("/console/tables/", 500, "page"), ("/static/x.css", 200, "static"), ("/tables", None, "api"),
    ],
)  # fmt: skip
def test_a_request_is_counted_by_what_it_asks_and_how_it_was_answered(
    path: str, status: int | None, asked: str
) -> None:
    name = f"{status // 100}xx" if status else "aborted"
    line = f'pinotadmin_http_request_seconds_count{{asked="{asked}",status="{name}"}}'
    recorded = RecordedValues(CONTROL, list)
    before, sent = _lines(recorded).get(line, 0.0), list[Any]()

    async def send(message: Any) -> None:
        sent.append(message)

    async def answer() -> None:
        with Timed(path, send) as timed:
            if status:
                await timed.send({"type": "http.response.start", "status": status})
                await timed.send({"type": "http.response.body"})

    asyncio.run(answer())
    assert _lines(recorded)[line] == before + 1
    assert len(sent) == (2 if status else 0)
