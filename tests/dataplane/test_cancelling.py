"""A cancelled query ends soon, wherever its work is: on servers, in the broker's own joins, or waiting for a turn."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from segments.dataplane.broker import stages
from segments.dataplane.query import engine
from segments.dataplane.stopping import ServerStops, Stop, current, stoppable
from segments.expressions.query_errors import QUERY_CANCELLED, QueryRejected
from tests.dataplane.world import World, codes, poll

#: Minutes of work, unless it is ended.
ENDLESS = "SELECT max(sin(a.i * b.i)) AS s0 FROM range(3000000) AS a(i), range(3000000) AS b(i)"


@pytest.fixture
def table(world: World) -> World:
    """t with ten rows on one server."""
    world.start_server(1)
    world.create_table("t")
    world.record("t1", world.build("t1"))
    world.assign(["t1"], (1,))
    poll(lambda: len(world.states("t1")) == 1)
    return world


def answer_of_cancelled(world: World, sql: str, is_running: Callable[[], Any], **options: str) -> dict[str, Any]:
    """What a query is answered that is cancelled once ``is_running``."""
    broker, stop, found = world.start_broker(), Stop("q1"), []

    def ask() -> None:
        with stoppable(stop):
            found.append(broker.query(sql, {"timeoutMs": "60000", **options}))

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        poll(is_running, what="the query at work")
    finally:
        began = time.monotonic()
        stop.set()
        thread.join(30)
    assert not thread.is_alive()
    assert time.monotonic() - began < 10, "it would have run for a minute"
    answer: dict[str, Any] = found[0]
    return answer


def test_a_server_ends_what_it_does_for_a_cancelled_query_and_answers_the_next(
    table: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, began = engine.run, threading.Event()

    def endless(sql: str, name: str, rows: Any) -> Any:
        if current().query != "q1":
            return plain(sql, name, rows)  # the broker's warming up
        began.set()
        return plain(ENDLESS, name, rows)

    monkeypatch.setattr(engine, "run", endless)
    answer = answer_of_cancelled(table, "select n from t where n > 3", began.is_set)
    assert codes(answer) == [QUERY_CANCELLED]
    assert "cancelled" in answer["exceptions"][0]["message"]
    assert answer["requestId"] == "q1"
    poll(lambda: not table.servers[1].runner.stops._running, what="the server's work ended")
    monkeypatch.setattr(engine, "run", plain)
    assert table.start_broker().query("select count(*) from t where n >= 0")["resultTable"]["rows"] == [[10]]


def test_the_work_of_a_cancelled_join_ends_in_the_broker(table: World, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, began = engine.run_stages, threading.Event()

    def endless(sql: str, tables: Any) -> Any:
        if current().query != "q1":
            return plain(sql, tables)
        began.set()
        return plain(ENDLESS, tables)

    monkeypatch.setattr(engine, "run_stages", endless)
    answer = answer_of_cancelled(table, "select count(*) from t a join t b on a.n = b.n", began.is_set)
    assert codes(answer) == [QUERY_CANCELLED]
    assert stages._turns.acquire(timeout=1), "its turn is free again"
    stages._turns.release()


def test_a_join_that_waits_for_its_turn_is_cancelled_at_once(table: World) -> None:
    for _ in range(2):
        assert stages._turns.acquire(blocking=False)
    began = time.monotonic()
    try:
        answer = answer_of_cancelled(
            table, "select count(*) from t a join t b on a.n = b.n", lambda: time.monotonic() - began > 0.5
        )
    finally:
        for _ in range(2):
            stages._turns.release()
    assert codes(answer) == [QUERY_CANCELLED]


def test_a_query_that_is_cancelled_before_its_part_comes_to_a_server_does_not_run_there(table: World) -> None:
    stops = ServerStops()
    assert stops.stop("q1") == 0
    with stops.part("q1") as stop, pytest.raises(QueryRejected, match="cancelled"):
        stop.check()
    with stops.part("q2") as other:
        other.check()
    for number in range(2000):
        stops.stop(f"other-{number}")
    assert len(stops._early) == 1000, "ids of others do not fill the memory"


def test_the_answer_has_the_id_that_the_client_gave(table: World) -> None:
    answer = table.start_broker().query("SET clientQueryId='nightly'; select count(*) from t")
    assert answer["clientRequestId"] == "nightly"
