"""The demo's live tables: flights of 2013 sent into Redis streams as if they left now, a bad message now and then."""

from __future__ import annotations

import csv
import itertools
import json
import logging
import time
from collections.abc import Iterator, Sequence
from threading import Event
from typing import Any, Final, Protocol

import redis

from segments.demo.flights import read_months

log = logging.getLogger(__name__)

#: Every flight that leaves, and the state of each flight number.
DEPARTURES: Final = "flights_live"
STATUS: Final = "flight_status"
TABLES: Final = (DEPARTURES, STATUS)

STATES: Final = ("boarding", "departed", "in the air", "landed")
#: Of the flights that are under way at a time, how many are between two states.
_BETWEEN: Final = 25
#: Of so many departures one message gives no row. The first would give one, if the table stored null for what does not
#: fit.
_BAD_EVERY: Final = 3_000
_BAD: Final = (
    b'{"carrier": "UA", "flight": 1545, "tailnum": "N14228", "origin": "EWR", "dest": "IAH", "dep_delay": "late"}',
    b'{"carrier": "UA", "flight": 15',
    b'["UA", 1545, "EWR"]',
)
#: Messages a second, and how many of them a stream keeps: seventeen minutes of departures.
RATES: Final = {DEPARTURES: 200, STATUS: 20}
_MOST_KEPT: Final = 200_000
_TURN_S: Final = 0.1
#: Seconds of messages that are sent late rather than left out, and between two attempts when Redis does not answer.
_LATEST_S: Final = 5.0
_AGAIN_S: Final = 2.0

_TEXTS: Final = ("carrier", "tailnum", "origin", "dest")
_NUMBERS: Final = ("flight", "dep_delay", "arr_delay", "air_time", "distance")

Flight = dict[str, Any]


class Streams(Protocol):
    """What is used of a Redis client."""

    def pipeline(self, *, transaction: bool) -> Any:
        """Collects commands."""


def schema(table: str) -> dict[str, Any]:
    """Of one of the tables."""
    is_status = table == STATUS
    texts = ("flight_id", "status", "origin", "dest") if is_status else _TEXTS
    numbers = ("dep_delay",) if is_status else _NUMBERS
    return {
        "schemaName": table,
        "enableColumnBasedNullHandling": True,
        **({"primaryKeyColumns": ["flight_id"]} if table == STATUS else {}),
        "dimensionFieldSpecs": [
            *({"name": n, "dataType": "STRING"} for n in texts),
            *({"name": n, "dataType": "INT"} for n in numbers),
        ],
        "dateTimeFieldSpecs": [
            {"name": "at", "dataType": "TIMESTAMP", "format": "TIMESTAMP", "granularity": "1:MILLISECONDS"}
        ],
    }


def table_config(table: str, replication: int = 2) -> dict[str, Any]:
    """REALTIME, kept for some hours; ``STATUS`` shows the latest row of each flight."""
    is_status = table == STATUS
    return {
        "tableName": f"{table}_REALTIME",
        "tableType": "REALTIME",
        "segmentsConfig": {
            "timeColumnName": "at", "replication": str(replication),
            "retentionTimeUnit": "HOURS", "retentionTimeValue": "6",
        },
        "tableIndexConfig": {},
        "tenants": {},
        "metadata": {},
        "ingestionConfig": {"streamIngestionConfig": {"streamConfigMaps": [{
            "streamType": "redis",
            "stream.redis.topic.name": f"demo-{table}",
            "stream.redis.partitions": "1",
            "stream.redis.consumer.prop.auto.offset.reset": "smallest",
            "realtime.segment.flush.threshold.segment.rows": "10000" if is_status else "60000",
        }]}},
        **({
            "upsertConfig": {"mode": "FULL"}, "routing": {"instanceSelectorType": "strictReplicaGroup"},
        } if is_status else {}),
    }  # fmt: skip


def read_flights() -> Sequence[Flight]:
    """All of the year, in order. NotFound when the data package is not installed."""
    header, months = read_months()
    names = header.decode().strip().split(",")
    lines = itertools.chain.from_iterable(months[m].decode().splitlines() for m in sorted(months))
    return [_flight(row) for row in csv.DictReader(lines, names)]


def _flight(row: dict[str, str]) -> Flight:
    texts = {n: row[n] for n in _TEXTS if row[n] != "NA"}
    return texts | {n: int(float(row[n])) for n in _NUMBERS if row[n] != "NA"}


def departures(flights: Sequence[Flight]) -> Iterator[Flight | bytes]:
    """Without end; now and then bytes that give no row."""
    for number in itertools.count():
        if number % _BAD_EVERY == _BAD_EVERY // 2:
            yield _BAD[number // _BAD_EVERY % len(_BAD)]
        yield flights[number % len(flights)]


def updates(flights: Sequence[Flight]) -> Iterator[Flight]:
    """One flight after the other boards, departs, flies and lands; without end."""
    for number in itertools.count():
        turn, state = divmod(number, len(STATES))
        flight = flights[(turn + (len(STATES) - 1 - state) * _BETWEEN) % len(flights)]
        known = {name: flight[name] for name in ("origin", "dest", "dep_delay") if name in flight}
        yield known | {"flight_id": f"{flight['carrier']}{flight['flight']}", "status": STATES[state]}


class Replay:
    """Sends messages at their rates until ``stop``."""

    def __init__(self, streams: Streams, flights: Sequence[Flight], stop: Event) -> None:
        self._streams, self._stop = streams, stop
        self._sources: dict[str, Iterator[Flight | bytes]] = {
            DEPARTURES: departures(flights),
            STATUS: iter(updates(flights)),
        }

    def run(self) -> None:
        """What could not be sent for a while, because Redis was down or the machine slept, is left out."""
        began, sent = time.monotonic(), dict.fromkeys(RATES, 0)
        while not self._stop.wait(_TURN_S):
            passed = time.monotonic() - began
            due = {table: int(passed * rate) - sent[table] for table, rate in RATES.items()}
            if due[DEPARTURES] > _LATEST_S * RATES[DEPARTURES]:
                began, sent = time.monotonic(), dict.fromkeys(RATES, 0)
                continue
            try:
                self.send(due, int(time.time() * 1000))
            except redis.RedisError as error:
                log.warning("Flights are not sent now: %s", error)
                self._stop.wait(_AGAIN_S)
                continue
            sent = {table: sent[table] + due[table] for table in sent}

    def send(self, due: dict[str, int], now_ms: int) -> None:
        """So many messages of each table. Raises RedisError."""
        pipe = self._streams.pipeline(transaction=False)
        for table, count in due.items():
            for found in itertools.islice(self._sources[table], count):
                value = found if isinstance(found, bytes) else json.dumps({**found, "at": now_ms}).encode()
                pipe.xadd(f"demo-{table}-0", {"value": value}, maxlen=_MOST_KEPT, approximate=True)
        pipe.execute()
