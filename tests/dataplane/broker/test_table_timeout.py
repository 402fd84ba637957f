"""How long a query may take: its own option, else ``query.timeoutMs`` of its table, else the broker's time."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace

import pytest

from segments.dataplane import query_bounds
from segments.dataplane.broker.answers import BROKER_TIMEOUT
from segments.dataplane.broker.asked.question import DEFAULT_TIMEOUT_MS, Question, read_question, with_table_limits
from segments.dataplane.stopping import Stop
from segments.store import paths
from segments.store.update import update_record
from tests.dataplane.world import TABLE, World, codes, poll


def question(**options: str) -> Question:
    return read_question("select count(*) from t", options, None, stop=Stop("q"), started=100.0, clock=lambda: 0)


def allowed_ms(asked: Question) -> int:
    assert asked.deadline == pytest.approx(asked.started + int(asked.options["timeoutMs"]) / 1000)
    return int(asked.options["timeoutMs"])


def test_the_option_of_a_query_comes_first_then_the_table_then_the_broker() -> None:
    assert allowed_ms(with_table_limits(question(), [None])) == DEFAULT_TIMEOUT_MS
    assert allowed_ms(with_table_limits(question(), [60_000])) == 60_000
    assert allowed_ms(with_table_limits(question(timeoutMs="300"), [60_000])) == 300


def test_of_a_hybrid_table_the_longer_time_counts() -> None:
    assert allowed_ms(with_table_limits(question(), [500, 700])) == 700
    assert allowed_ms(with_table_limits(question(), [500, None])) == DEFAULT_TIMEOUT_MS


def test_no_table_may_ask_for_more_than_the_installation_allows() -> None:
    most = query_bounds.current().timeout_ms
    assert allowed_ms(with_table_limits(question(), [most * 2])) == most


def test_a_query_of_several_tables_has_the_time_of_the_broker() -> None:
    asked = read_question(
        "select count(*) from t a join u b on a.n = b.n", {}, None, stop=Stop("q"), started=100.0, clock=lambda: 0
    )
    assert asked.stages is not None
    assert allowed_ms(with_table_limits(asked, [500, 500])) == DEFAULT_TIMEOUT_MS


def test_a_query_ends_when_the_time_of_its_table_is_up(world: World) -> None:
    world.create_table()
    world.start_server(1)
    world.push(["a1"], servers=(1,))
    broker = world.start_broker()
    update_record(
        world.store,
        paths.table_config(TABLE),
        lambda found: found.record.with_simple(query=json.dumps({"timeoutMs": 300})),  # type: ignore[union-attr]
    )
    poll(lambda: broker.routing(TABLE).timeout_ms == 300, what="the changed config")  # type: ignore[union-attr]
    release = threading.Event()
    world.servers[1].runner._run = lambda _request: str(release.wait(5.0)).encode()  # type: ignore[method-assign]
    began = time.monotonic()
    assert codes(broker.query("select count(*) from t")) == [BROKER_TIMEOUT]
    assert time.monotonic() - began < 2.0
    release.set()


@pytest.mark.parametrize("stored", [0, -1])
def test_a_time_that_is_none_and_was_stored_by_an_older_program_counts_as_missing(world: World, stored: int) -> None:
    world.create_table()
    broker = world.start_broker()
    routing = broker.routing(TABLE)
    assert routing is not None
    assert routing.config is not None
    body = {**routing.config.body, "query": {"timeoutMs": stored}}
    assert replace(routing, config=replace(routing.config, body=body)).timeout_ms is None
