"""Speed of fetch, decode and append, and the delay until a row can be queried, for Redis Streams and Kafka (a real
broker).

Run from the project's root: ``python -m bench.realtime_ingest``. Rows are JSON of 10 columns and about 300 bytes.
Kafka's jars are fetched once with Maven; without it that part is left out and says so. Rows are produced before they
are read, except for the delay.
"""

from __future__ import annotations

import multiprocessing
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from segments.dataplane.realtime.decode import open_decoder
from segments.dataplane.realtime.mutable_segment import MutableSegment
from segments.domain.realtime.streams.stream_config import StreamConfig, parse_stream_config
from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import parse_table_config
from segments.gateways.streams import Stream, open_stream, stream_access
from segments.processes.machine.valkey import redis_binary
from tests.real_parts import free_port
from tests.streams.kafka_broker import fetch_jars, running
from tests.waiting import wait_until

ROWS = 300_000
BATCH = 10_000
#: Real Pinot, and what this project asks of itself (rows per second of one server).
PINOT = {"kafka 1": "63-100k", "kafka 2": "126-151k", "redis 1": "-", "redis 2": "-"}
GOALS = {"kafka 1": 100_000, "kafka 2": 150_000, "redis 1": 60_000, "redis 2": 60_000}
RATE, SECONDS = 3_000, 6
TEXTS = ("id", "user", "city", "country", "device", "url", "session")
SCHEMA = parse_schema(
    {
        "schemaName": "b",
        "dimensionFieldSpecs": [{"name": n, "dataType": "STRING"} for n in TEXTS],
        "metricFieldSpecs": [{"name": "amount", "dataType": "DOUBLE"}, {"name": "count", "dataType": "INT"}],
        "dateTimeFieldSpecs": [
            {"name": "ts", "dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:MILLISECONDS"}
        ],
    }
)
CONFIG = parse_table_config({"tableName": "b", "tableType": "REALTIME", "segmentsConfig": {"timeColumnName": "ts"}})


def message(number: int, stamp: int) -> bytes:
    """One row; ``ts`` is microseconds, so that the delay can be computed."""
    return orjson.dumps(
        {
            "id": f"0-0-{number}",
            "user": f"user-{number % 5000}",
            "city": f"city-{number % 200}",
            "country": "Germany",
            "device": ("mobile", "desktop", "tablet")[number % 3],
            "url": f"https://example.org/shop/{number % 1000}/page.html?visit={number % 77}",
            "session": f"a3f5b9c1d2e4f6a7b8c9d0e1{number:012d}{number * 7919 % 10**24:024d}",
            "amount": number * 1.25,
            "count": number % 100,
            "ts": stamp,
        }
    )


class Redis:
    """Redis Streams on a Valkey of its own."""

    kind = "redis"

    def __init__(self, place: str) -> None:
        self.place = place

    def config(self, topic: str) -> StreamConfig:
        own = {"stream.redis.url": self.place, "stream.redis.partitions": "2"}
        return parse_stream_config({"streamType": "redis", "stream.redis.topic.name": topic, **own})

    def create(self, topic: str) -> None:
        """Streams are created automatically."""

    def producer(self, topic: str) -> Any:
        import redis

        client = redis.Redis.from_url(self.place)

        def send(partition: int, values: list[bytes]) -> None:
            for start in range(0, len(values), 2_000):
                pipe = client.pipeline(transaction=False)
                for value in values[start : start + 2_000]:
                    pipe.xadd(f"{topic}-{partition}", {"value": value})
                pipe.execute()

        return send


class Kafka:
    """A real Kafka."""

    kind = "kafka"

    def __init__(self, place: str) -> None:
        self.place = place

    def config(self, topic: str) -> StreamConfig:
        own = {"stream.kafka.broker.list": self.place, "stream.kafka.decoder.class.name": "json"}
        return parse_stream_config({"streamType": "kafka", "stream.kafka.topic.name": topic, **own})

    def create(self, topic: str) -> None:
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient({"bootstrap.servers": self.place})
        admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(30)
        wait_until(lambda: len(admin.list_topics(topic, 10).topics[topic].partitions) == 2, 30)

    def producer(self, topic: str) -> Any:
        from confluent_kafka import Producer

        client = Producer({"bootstrap.servers": self.place, "linger.ms": 1, "queue.buffering.max.messages": 2_000_000})

        def send(partition: int, values: list[bytes]) -> None:
            for value in values:
                client.produce(topic, value, partition=partition)
            client.flush(120)

        return send


def consume(config: StreamConfig, stream: Stream, partition: int, rows: int) -> MutableSegment:
    """Fetch, decode and append that many rows from the beginning."""
    decoder, segment = open_decoder(config, SCHEMA, CONFIG), MutableSegment("b", SCHEMA, CONFIG)
    consumer, start = stream.consumer(partition), stream.earliest(partition)
    while segment.rows < rows:
        batch = consumer.fetch(start, max_messages=BATCH, timeout_s=1)
        found = decoder.decode(batch.values, now_ms=0)
        segment.append(found.table, found.masks)
        start = batch.next_offset
    consumer.close()
    return segment


def speed(world: Any) -> None:
    """Print rows/s on one partition and on two at once; best of three."""
    world.create("speed")
    send = world.producer("speed")
    for partition in (0, 1):
        send(partition, [message(n, n) for n in range(ROWS)])
    config = world.config("speed")
    stream = open_stream(config, stream_access(loopback=True))
    consume(config, stream, 0, 1_000)
    size = len(message(ROWS // 2, 1_700_000_000_000))
    for partitions in (1, 2):
        best, cpu = 0.0, 0.0
        for _ in range(3):
            threads = [threading.Thread(target=consume, args=(config, stream, p, ROWS)) for p in range(partitions)]
            begin, before = time.perf_counter(), time.process_time()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            best = max(best, partitions * ROWS / (time.perf_counter() - begin))
            cpu = max(cpu, partitions * ROWS / (time.process_time() - before))
        name = f"{world.kind} {partitions}"
        told = f"goal {GOALS[name]:9,}   Pinot 1.5.1 {PINOT[name]:>8}"
        print(
            f"{world.kind:6} {partitions} partition(s), {size}-byte rows {best:12,.0f} rows/s, {cpu:9,.0f} per "
            f"CPU second   {told}"
        )
    before = pa.total_allocated_bytes()
    segment = consume(config, stream, 0, ROWS)
    held = pa.total_allocated_bytes() - before
    print(
        f"{world.kind:6} memory {held / segment.bytes:.2f} x the rows' {segment.bytes / 1e6:.0f} MB in Arrow   goal 2 x"
    )


def produce(world: Any) -> None:
    """RATE rows a second, each with the time in microseconds; a process of its own."""
    send, begin = world.producer("delay"), time.time()
    for number in range(RATE * SECONDS // 10):
        wait = begin + number * 10 / RATE - time.time()
        if wait > 0:
            time.sleep(wait)
        stamp = time.time_ns() // 1_000
        send(0, [message(number * 10 + i, stamp) for i in range(10)])


def delay(world: Any) -> None:
    """Print the time from the call that sends a row until a snapshot holds it."""
    world.create("delay")
    config = world.config("delay")
    stream = open_stream(config, stream_access(loopback=True))
    decoder, segment = open_decoder(config, SCHEMA, CONFIG), MutableSegment("b", SCHEMA, CONFIG)
    consumer, start = stream.consumer(0), stream.earliest(0)
    producer = multiprocessing.get_context("spawn").Process(target=produce, args=(world,))
    producer.start()
    delays, cpu, fetches = [], time.process_time(), 0
    while segment.rows < RATE * SECONDS:
        batch = consumer.fetch(start, max_messages=BATCH, timeout_s=5)
        found = decoder.decode(batch.values, now_ms=0)
        segment.append(found.table, found.masks)
        start, now, fetches = batch.next_offset, time.time_ns() // 1_000, fetches + 1
        delays.append(now - found.table.column("ts").to_numpy())
    producer.join()
    all_delays = np.concatenate(delays)[RATE:] / 1_000
    p50, p99 = np.percentile(all_delays, [50, 99])
    load = (time.process_time() - cpu) / SECONDS
    pieces = len(segment.snapshot().pieces)
    told = f"{fetches} fetches, {load:.0%} of a core, {pieces} pieces"
    print(
        f"{world.kind:6} produce to queryable at {RATE:,} rows/s: p50 {p50:.1f} ms, p99 {p99:.1f} ms ({told})   "
        "goal 12, 100 ms"
    )
    consumer.close()


@contextmanager
def valkey() -> Iterator[str]:
    """URL of a Valkey of its own."""
    import redis

    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [
                str(redis_binary()),
                "--port",
                str(port),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--dir",
                folder,
                "--loglevel",
                "warning",
            ],
            stdout=subprocess.DEVNULL,
        )
        url = f"redis://127.0.0.1:{port}/0"

        def answers() -> bool:
            try:
                return bool(redis.Redis.from_url(url).ping())
            except redis.ConnectionError:
                return False

        try:
            wait_until(answers, 20)
            yield url
        finally:
            process.kill()
            process.wait(20)


def main() -> None:
    """All measurements."""
    with valkey() as url:
        speed(Redis(url))
        delay(Redis(url))
    problem = fetch_jars()
    if problem:
        print(f"kafka  left out: {problem}")
        return
    with running() as broker:
        speed(Kafka(broker.bootstrap))
        delay(Kafka(broker.bootstrap))


if __name__ == "__main__":
    main()
