"""The demo's live tables: what is sent becomes rows of them, but for the messages that are bad on purpose."""

from __future__ import annotations

import itertools
import json
import threading
from pathlib import Path
from typing import Any

import pytest
import redis

from segments.dataplane.realtime.decode import open_decoder
from segments.demo import live_flights
from segments.demo.live_flights import DEPARTURES, STATUS, TABLES, Replay
from segments.domain.realtime.streams.stream_config import parse_stream_config
from segments.domain.tables.keyed_tables import key_rules
from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import parse_table_config
from segments.services.tables.schemas import create_schema
from segments.services.tables.tables import create_table
from tests.services.realtime_world import ANN, RealtimeWorld

HEADER = b"carrier,flight,tailnum,origin,dest,dep_delay,arr_delay,air_time,distance,month\n"
LINES = [f"UA,{number},N1,EWR,{'NA' if number % 7 == 0 else 'IAH'},NA,-3,227.0,1400,1\n" for number in range(400)]


@pytest.fixture
def flights(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A year of four hundred flights."""
    monkeypatch.setattr(live_flights, "read_months", lambda: (HEADER, {1: "".join(LINES).encode(), 2: b""}))
    return list(live_flights.read_flights())


class Streams:
    """Keeps what is sent; ``down``: so many times it does not answer."""

    def __init__(self, down: int = 0) -> None:
        self.down, self.kept, self._waiting = down, dict[str, list[bytes]](), list[tuple[str, bytes]]()

    def pipeline(self, *, transaction: bool) -> Streams:
        assert not transaction
        self._waiting = []
        return self

    def xadd(self, key: str, fields: dict[str, bytes], *, maxlen: int, approximate: bool) -> None:
        assert maxlen > 0
        assert approximate
        self._waiting.append((key, fields["value"]))

    def execute(self) -> None:
        if self.down:
            self.down -= 1
            raise redis.ConnectionError("it is down")
        for key, value in self._waiting:
            self.kept.setdefault(key, []).append(value)


def decoded(table: str, values: list[bytes], **ingestion: Any) -> Any:
    """As a server makes rows of them."""
    body = live_flights.table_config(table)
    body["ingestionConfig"] |= ingestion
    schema, config = parse_schema(live_flights.schema(table)), parse_table_config(body)
    maps = config.body["ingestionConfig"]["streamIngestionConfig"]["streamConfigMaps"]
    return open_decoder(parse_stream_config(maps[0]), schema, config).decode(values, now_ms=0)


def test_every_message_gives_a_row_but_one_of_three_thousand(flights: list[dict[str, Any]]) -> None:
    streams = Streams()
    Replay(streams, flights, threading.Event()).send({DEPARTURES: 6_002, STATUS: 40}, now_ms=1_800_000_000_000)
    found = decoded(DEPARTURES, streams.kept[f"demo-{DEPARTURES}-0"])
    assert (found.table.num_rows, found.bad, len(found.set_aside)) == (6_000, 2, 2)
    assert set(found.masks) == {"dest", "dep_delay"}
    assert found.table.column("air_time")[0].as_py() == 227
    status = decoded(STATUS, streams.kept[f"demo-{STATUS}-0"])
    assert (status.table.num_rows, status.bad) == (40, 0)


def test_one_of_the_bad_messages_gives_a_row_once_null_is_stored_for_what_does_not_fit() -> None:
    values = list(live_flights._BAD)
    assert len(decoded(DEPARTURES, values).set_aside) == len(values)
    found = decoded(DEPARTURES, values, continueOnError=True)
    assert (found.table.num_rows, len(found.set_aside)) == (1, len(values) - 1)
    assert found.table.column("flight")[0].as_py() == 1545
    assert set(found.masks) >= {"dep_delay"}


def test_a_flight_boards_before_it_departs_and_lands_last(flights: list[dict[str, Any]]) -> None:
    seen: dict[str, list[str]] = {}
    for update in itertools.islice(live_flights.updates(flights), 4 * len(flights), 12 * len(flights)):
        seen.setdefault(update["flight_id"], []).append(update["status"])
    assert len(seen) == len(flights)
    for states in seen.values():
        numbers = [live_flights.STATES.index(state) for state in states]
        assert all(after == (before + 1) % len(live_flights.STATES) for before, after in itertools.pairwise(numbers))


def test_both_tables_are_taken_and_the_one_of_states_shows_a_flight_once(tmp_path: Path, db: None) -> None:
    world = RealtimeWorld(tmp_path)
    for table in TABLES:
        world.streams.topics[f"demo-{table}"] = {0: [0, 0]}
        create_schema(world.ctx, live_flights.schema(table), override=True, actor=ANN)
        create_table(world.ctx, live_flights.table_config(table), actor=ANN)
    config, schema = (
        parse_table_config(live_flights.table_config(STATUS)),
        parse_schema(live_flights.schema(STATUS)),
    )
    rules = key_rules(config, schema)
    assert rules is not None
    assert (rules.columns, rules.comparison) == (("flight_id",), "at")


def test_a_redis_that_is_down_for_a_while_gets_the_flights_that_leave_later(
    flights: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_flights, "_TURN_S", 0.005)
    monkeypatch.setattr(live_flights, "_AGAIN_S", 0.01)
    streams, stop = Streams(down=3), threading.Event()
    thread = threading.Thread(target=Replay(streams, flights, stop).run)
    thread.start()
    deadline = threading.Event()
    for _ in range(1_000):
        if streams.kept.get(f"demo-{STATUS}-0"):
            break
        deadline.wait(0.01)
    stop.set()
    thread.join()
    assert json.loads(streams.kept[f"demo-{STATUS}-0"][0])["status"] in live_flights.STATES
    assert streams.down == 0
