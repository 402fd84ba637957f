"""Streams under test, each with the same few handles: in memory, a real Valkey, a real Kafka (skipped where its jars
cannot be had).
"""

from __future__ import annotations

import itertools
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
import redis
from confluent_kafka import Producer, TopicPartition

from segments.domain.realtime.streams.stream_config import StreamConfig, parse_stream_config
from segments.gateways.streams import Stream, open_stream, stream_access
from segments.gateways.streams.memory import MemoryBroker
from segments.processes.machine.valkey import redis_binary
from tests.real_parts import free_port
from tests.streams.kafka_broker import KafkaBroker, fetch_jars, running
from tests.waiting import wait_until

_names = itertools.count(1)
#: As of an installation that serves its own machine only.
ACCESS = stream_access(loopback=True)


class StreamWorld(Protocol):
    """One kind of stream."""

    kind: str

    def create(self, topic: str, partitions: int) -> None: ...
    def send(self, topic: str, partition: int, values: list[bytes]) -> None: ...
    def truncate(self, topic: str, partition: int, count: int) -> None: ...
    def config(self, topic: str, **extra: str) -> StreamConfig: ...
    def open(self, topic: str, **extra: str) -> Stream: ...


class MemoryWorld:
    kind = "memory"

    def __init__(self) -> None:
        self.broker = MemoryBroker()

    def create(self, topic: str, partitions: int) -> None:
        self.broker.create(topic, partitions)

    def send(self, topic: str, partition: int, values: list[bytes]) -> None:
        self.broker.send(topic, partition, values)

    def truncate(self, topic: str, partition: int, count: int) -> None:
        self.broker.expire(topic, partition, self.broker.logs(topic)[partition].first + count)

    def config(self, topic: str, **extra: str) -> StreamConfig:
        return parse_stream_config({"streamType": "memory", "stream.memory.topic.name": topic, **extra})

    def open(self, topic: str, **extra: str) -> Stream:
        return self.broker.open(self.config(topic, **extra))


class RedisWorld:
    kind = "redis"

    def __init__(self, port: int) -> None:
        self.url = f"redis://127.0.0.1:{port}/0"
        self.client: Any = redis.Redis(port=port)

    def create(self, topic: str, partitions: int) -> None:
        for partition in range(partitions):
            if not self.client.exists(f"{topic}-{partition}"):
                self.client.xadd(f"{topic}-{partition}", {"value": b"{}"}, id="0-1")
                self.client.xdel(f"{topic}-{partition}", "0-1")

    def send(self, topic: str, partition: int, values: list[bytes]) -> None:
        pipe = self.client.pipeline(transaction=False)
        for value in values:
            pipe.xadd(f"{topic}-{partition}", {"value": value})
        pipe.execute()

    def truncate(self, topic: str, partition: int, count: int) -> None:
        left = self.client.xlen(f"{topic}-{partition}") - count
        self.client.xtrim(f"{topic}-{partition}", maxlen=left, approximate=False)

    def config(self, topic: str, **extra: str) -> StreamConfig:
        return parse_stream_config(
            {"streamType": "redis", "stream.redis.topic.name": topic, "stream.redis.url": self.url, **extra}
        )

    def open(self, topic: str, **extra: str) -> Stream:
        return open_stream(self.config(topic, **extra), ACCESS)


class KafkaWorld:
    kind = "kafka"

    def __init__(self, broker: KafkaBroker) -> None:
        self.broker = broker
        self.producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 1, "acks": "all", "log_level": 0})

    def create(self, topic: str, partitions: int) -> None:
        if topic in self.broker.admin.list_topics(timeout=10).topics:
            self.broker.add_partitions(topic, partitions)
        else:
            self.broker.create(topic, partitions)

    def send(self, topic: str, partition: int, values: list[bytes]) -> None:
        for value in values:
            self.producer.produce(topic, value, partition=partition)
        assert self.producer.flush(30) == 0

    def truncate(self, topic: str, partition: int, count: int) -> None:
        stream = self.open(topic)
        first = stream.earliest(partition).value[0]
        for future in self.broker.admin.delete_records([TopicPartition(topic, partition, first + count)]).values():
            future.result(30)
        stream.close()

    def config(self, topic: str, **extra: str) -> StreamConfig:
        own = {"stream.kafka.broker.list": self.broker.bootstrap, "stream.kafka.decoder.class.name": "json"}
        return parse_stream_config({"streamType": "kafka", "stream.kafka.topic.name": topic, **own, **extra})

    def open(self, topic: str, **extra: str) -> Stream:
        return open_stream(self.config(topic, **extra), ACCESS)


@pytest.fixture(scope="session")
def valkey() -> Iterator[int]:
    """Port of a Valkey of its own."""
    with tempfile.TemporaryDirectory(prefix="valkey-") as folder:
        port = free_port()
        options = [
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            folder,
            "--logfile",
            str(Path(folder) / "log"),
        ]
        process = subprocess.Popen([str(redis_binary()), *options], stdout=subprocess.DEVNULL)
        client: Any = redis.Redis(port=port)

        def answers() -> bool:
            try:
                return bool(client.ping())
            except redis.ConnectionError:
                return False

        try:
            wait_until(answers, 20.0, "Valkey")
            yield port
        finally:
            client.close()
            process.kill()
            process.wait(20)


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaBroker]:
    """A real Kafka for all tests of a run."""
    problem = fetch_jars()
    if problem:
        pytest.skip(problem)
    with running() as broker:
        yield broker


@pytest.fixture(params=["memory", "redis", pytest.param("kafka", marks=pytest.mark.integration)])
def world(request: pytest.FixtureRequest) -> StreamWorld:
    """Every kind of stream in turn."""
    if request.param == "memory":
        return MemoryWorld()
    if request.param == "redis":
        return RedisWorld(request.getfixturevalue("valkey"))
    return KafkaWorld(request.getfixturevalue("kafka"))


@pytest.fixture
def topic() -> str:
    """A name that no other test uses."""
    return f"topic{next(_names)}"
