"""A realtime table to measure: a stream that is filled from here, and the table's REST operations."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import urlsplit

import redis

from tests.integration.running import Client
from tests.waiting import poll

#: Ten columns; one message is about 300 bytes.
DIMENSIONS = {
    "id": "STRING",
    "p": "INT",
    "n": "LONG",
    "city": "STRING",
    "carrier": "STRING",
    "flight": "INT",
    "note": "STRING",
}
METRICS = {"fare": "DOUBLE", "miles": "INT"}
NOTE = (
    "a note that makes the message as long as messages are that carry some text of their own, like this one "
    "does, up to here"
)


def schema_of(name: str) -> dict[str, Any]:
    """Ten columns with the time."""
    return {
        "schemaName": name,
        "dimensionFieldSpecs": [{"name": c, "dataType": t} for c, t in DIMENSIONS.items()],
        "metricFieldSpecs": [{"name": c, "dataType": t} for c, t in METRICS.items()],
        "dateTimeFieldSpecs": [
            {"name": "ts", "dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:MILLISECONDS"}
        ],
    }


def message(partition: int, number: int, ts_ms: int) -> bytes:
    """One row as JSON text; ``n`` counts from 0 in each partition."""
    return (
        f'{{"id":"{partition}-{number}","p":{partition},"n":{number},'
        f'"city":"city-{number % 500}","carrier":"{number % 17}A",'
        f'"flight":{number % 4000},"note":"{NOTE}","fare":{number % 90_000 / 100},"miles":{number % 3000},'
        f'"ts":{ts_ms}}}'
    ).encode()


class QuickSql:
    """Queries over one open connection, with little work of its own: what is measured is the other side."""

    def __init__(self, endpoints: dict[str, Any]) -> None:
        where = urlsplit(endpoints["broker"])
        self._link = http.client.HTTPConnection(where.hostname or "", where.port, timeout=60)
        self._headers = {"Authorization": endpoints["authorization"], "Content-Type": "application/json"}

    def sql(self, sql: str) -> list[list[Any]]:
        """Rows; an exception in the answer fails."""
        self._link.request("POST", "/query/sql", json.dumps({"sql": sql}), self._headers)
        body = json.loads(self._link.getresponse().read())
        assert not body["exceptions"], body["exceptions"]
        rows: list[list[Any]] = body["resultTable"]["rows"]
        return rows


class Feed(Protocol):
    """A stream that can be filled."""

    kind: str

    def create(self, topic: str, partitions: int) -> None:
        """Make the topic."""

    def send(self, topic: str, partition: int, messages: Iterable[bytes]) -> None:
        """Append; returns when all are stored."""

    def config(self, topic: str) -> dict[str, str]:
        """Stream config of a table that reads the topic."""


class RedisFeed:
    """Redis Streams of the installation."""

    kind = "redis"

    def __init__(self, url: str) -> None:
        self.url = url
        self.client = redis.Redis.from_url(url)
        self.partitions: dict[str, int] = {}

    def create(self, topic: str, partitions: int) -> None:
        """Partition i is the key ``topic-i``."""
        self.partitions[topic] = partitions
        for partition in range(partitions):
            self.client.delete(f"{topic}-{partition}")

    def send(self, topic: str, partition: int, messages: Iterable[bytes]) -> None:
        """XADD in pipelines of a thousand."""
        pipe = self.client.pipeline(transaction=False)
        for number, value in enumerate(messages, 1):
            pipe.xadd(f"{topic}-{partition}", {"value": value})
            if number % 1000 == 0:
                pipe.execute()
        pipe.execute()

    def config(self, topic: str) -> dict[str, str]:
        """As the figures show it."""
        return {
            "streamType": "redis",
            "stream.redis.topic.name": topic,
            "stream.redis.url": self.url,
            "stream.redis.partitions": str(self.partitions[topic]),
            "stream.redis.consumer.prop.auto.offset.reset": "smallest",
        }


class KafkaFeed:
    """A Kafka broker."""

    kind = "kafka"

    def __init__(self, bootstrap: str) -> None:
        from confluent_kafka import Producer
        from confluent_kafka.admin import AdminClient

        self.bootstrap = bootstrap
        self.admin = AdminClient({"bootstrap.servers": bootstrap})
        self.producer = Producer(
            {"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 1, "queue.buffering.max.messages": 2_000_000}
        )

    def create(self, topic: str, partitions: int) -> None:
        """A new topic."""
        from confluent_kafka.admin import NewTopic

        self.admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(30)

    def send(self, topic: str, partition: int, messages: Iterable[bytes]) -> None:
        """Produce and flush."""
        for number, value in enumerate(messages):
            self.producer.produce(topic, value, partition=partition)
            if number % 10_000 == 0:
                self.producer.poll(0)
        assert self.producer.flush(120) == 0

    def config(self, topic: str) -> dict[str, str]:
        """As in Pinot."""
        return {
            "streamType": "kafka", "stream.kafka.topic.name": topic, "stream.kafka.broker.list": self.bootstrap,
            "stream.kafka.consumer.type": "lowlevel", "stream.kafka.decoder.class.name": "JSONMessageDecoder",
            "stream.kafka.consumer.prop.auto.offset.reset": "smallest",
        }  # fmt: skip


class Table:
    """A REALTIME table over one topic of its own name."""

    def __init__(self, client: Client, feed: Feed, name: str, partitions: int) -> None:
        self.client, self.feed, self.name, self.partitions = client, feed, name, partitions
        self.sent = dict.fromkeys(range(partitions), 0)
        self._lock = threading.Lock()
        feed.create(name, partitions)
        client.call("POST", "/schemas", json=schema_of(name))

    def create(
        self,
        *,
        rows: int,
        replication: int = 1,
        is_pauseless: bool = False,
        stream: Mapping[str, str] | None = None,
        **segments: Any,
    ) -> Table:
        """The table; its segments end at ``rows`` rows. ``stream``: further keys of its stream config."""
        limit = {"realtime.segment.flush.threshold.segment.rows": str(rows)}
        keys = {**self.feed.config(self.name), **limit, **(stream or {})}
        body = {
            "tableName": self.name, "tableType": "REALTIME", "tenants": {}, "tableIndexConfig": {}, "metadata": {},
            "segmentsConfig": {"timeColumnName": "ts", "replication": str(replication), **segments},
            "ingestionConfig": {"streamIngestionConfig": {
                "streamConfigMaps": [keys], "pauselessConsumptionEnabled": is_pauseless
            }},
        }  # fmt: skip
        self.client.call("POST", "/tables", json=body)
        return self

    def drop(self) -> None:
        """Table and schema."""
        self.client.call("DELETE", f"/tables/{self.name}", params={"type": "realtime"})

    def send(self, partition: int, count: int) -> None:
        """``count`` further rows. Safe between threads."""
        with self._lock:
            first, now = self.sent[partition], int(time.time() * 1000)
            self.feed.send(self.name, partition, (message(partition, n, now) for n in range(first, first + count)))
            self.sent[partition] = first + count

    def mark(self, partition: int, number: int) -> None:
        """One row more, whose ``n`` is beyond all others."""
        with self._lock:
            self.feed.send(self.name, partition, [message(partition, number, int(time.time() * 1000))])
            self.sent[partition] += 1

    def rows(self) -> int:
        """Rows that a query sees."""
        return int(self.client.sql(f"select count(*) from {self.name}")[0][0])

    def newest(self, quick: QuickSql) -> dict[int, int]:
        """{partition: largest n that a query sees}."""
        return {int(p): int(n) for p, n in quick.sql(f"select p, max(n) from {self.name} group by p limit 1000")}

    def wait_rows(self, count: int, seconds: float = 300.0) -> None:
        """Wait until at least so many are visible."""
        poll(lambda: self.rows() >= count, seconds, f"{count} rows of {self.name}")

    def whole(self) -> bool:
        """Is every row visible exactly once?"""
        total = sum(self.sent.values())
        return [total, total] == [
            int(v) for v in self.client.sql(f"select count(*), distinctcount(id) from {self.name}")[0]
        ]

    def consuming(self) -> list[str]:
        """Segments that still consume."""
        found: list[str] = self.client.call("GET", f"/tables/{self.name}/pauseStatus").json()["consumingSegments"]
        return found

    def status(self, segment: str) -> str:
        """DONE when it is committed."""
        found = self.client.call("GET", f"/segments/{self.name}_REALTIME/{segment}/metadata").json()
        return str(found.get("segment.realtime.status"))

    def online(self, segment: str) -> bool:
        """Is it committed, and does every replica serve what was committed?"""
        view = self.client.call("GET", f"/tables/{self.name}/externalview").json()["REALTIME"] or {}
        return set(view.get(segment, {}).values()) == {"ONLINE"}


class Producing:
    """A thread that sends rows at a steady rate."""

    def __init__(self, table: Table, rate: int, partitions: tuple[int, ...]) -> None:
        self.table, self.rate, self.partitions = table, rate, partitions
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Producing:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        began, sent = time.monotonic(), 0
        while not self._stop.wait(0.005):
            due = int((time.monotonic() - began) * self.rate) - sent
            if due > 0:
                for partition in self.partitions:
                    self.table.send(partition, due)
                sent += due


def once(act: Callable[[], object]) -> float:
    """Seconds that it takes."""
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def spread(seconds: Sequence[float]) -> str:
    """Median / p99 in milliseconds, and how many."""
    times = sorted(s * 1000 for s in seconds)
    if not times:
        return "nothing measured"
    return (
        f"{times[len(times) // 2]:8.1f} / {times[min(len(times) - 1, int(len(times) * 0.99))]:8.1f} ms  ({len(times)})"
    )


def pretty(body: object) -> str:
    """JSON for people."""
    return json.dumps(body, indent=2)
