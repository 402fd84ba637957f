"""Kafka: settings of the Java client in librdkafka's words, topics that are not there, a broker killed and started
again.
"""

from __future__ import annotations

import time

import pytest
from confluent_kafka import KafkaError

from segments.domain.realtime.streams.stream_config import parse_stream_config
from segments.domain.realtime.streams.stream_offset import parse_offset
from segments.errors import Unavailable
from segments.gateways.streams import open_stream, stream_access
from segments.gateways.streams.kafka import KafkaConsumer
from tests.real_parts import free_port
from tests.streams.conftest import KafkaWorld
from tests.streams.kafka_broker import KafkaBroker


def test_no_broker_is_unavailable() -> None:
    own = {"streamType": "kafka", "stream.kafka.topic.name": "t", "stream.kafka.decoder.class.name": "json"}
    config = parse_stream_config({**own, "stream.kafka.connection.timeout.millis": "1000"})
    with pytest.raises(Unavailable, match="'t'"):
        open_stream(config, stream_access(kafka_bootstrap=f"127.0.0.1:{free_port()}")).partitions()
    with pytest.raises(Unavailable, match="'t'"):
        open_stream(config, stream_access(kafka_bootstrap="no-such-host.invalid:9092")).partitions()


@pytest.mark.integration
class Client:
    """A client of a partition with offsets ``low`` to ``high`` whose next poll fails as given."""

    def __init__(self, code: int, low: int, high: int) -> None:
        self.code, self.low, self.high = code, low, high

    def assign(self, _: object) -> None:
        return

    def poll(self, _: float) -> Client:
        return self

    def consume(self, _most: int, _timeout: float) -> list[object]:
        return []

    def error(self) -> KafkaError:
        return KafkaError(self.code)

    def get_watermark_offsets(self, *_: object, **__: object) -> tuple[int, int]:
        return self.low, self.high


@pytest.mark.parametrize("stop", [None, "80"])
def test_an_offset_that_the_broker_has_but_does_not_give_is_never_passed_over(stop: str | None) -> None:
    """A partition whose leader moves says so for a moment."""
    own = {"streamType": "kafka", "stream.kafka.topic.name": "t", "stream.kafka.decoder.class.name": "json"}
    consumer = KafkaConsumer(parse_stream_config(own), {}, 0, 1.0, lambda _: "")
    consumer._client = Client(KafkaError.OFFSET_OUT_OF_RANGE, 0, 100)
    end = parse_offset("kafka", stop) if stop else None
    with pytest.raises(Unavailable, match="offset 10"):
        consumer.fetch(parse_offset("kafka", "10"), max_messages=10, timeout_s=0.1, stop=end)


def test_a_topic_that_is_not_there_is_unavailable(kafka: KafkaBroker) -> None:
    with pytest.raises(Unavailable, match="nothere"):
        KafkaWorld(kafka).open("nothere").partitions()


@pytest.mark.integration
def test_an_offset_beyond_the_end_is_reported_and_not_moved_back(kafka: KafkaBroker, topic: str) -> None:
    world = KafkaWorld(kafka)
    world.create(topic, 1)
    world.send(topic, 0, [b"{}"] * 3)
    stream = world.open(topic)
    beyond = stream.latest(0)
    for _ in range(5):
        beyond = beyond.after()
    consumer = stream.consumer(0)
    with pytest.raises(Unavailable, match="created again"):
        for _ in range(10):
            consumer.fetch(beyond, max_messages=10, timeout_s=1)
    consumer.close()


@pytest.mark.integration
@pytest.mark.timeout(300)
def test_reading_goes_on_after_the_broker_was_killed_and_started_again(kafka: KafkaBroker, topic: str) -> None:
    world = KafkaWorld(kafka)
    world.create(topic, 1)
    world.send(topic, 0, [b"1", b"2"])
    stream = world.open(topic)
    consumer, start = stream.consumer(0), stream.earliest(0)
    start = consumer.fetch(start, max_messages=2, timeout_s=30).next_offset
    kafka.kill()
    try:
        with pytest.raises(Unavailable, match=topic):
            for _ in range(60):
                assert len(consumer.fetch(start, max_messages=2, timeout_s=1)) == 0
    finally:
        kafka.start()
    world.send(topic, 0, [b"3"])
    found: list[bytes] = []
    deadline = time.monotonic() + 60
    while not found and time.monotonic() < deadline:
        try:
            batch = consumer.fetch(start, max_messages=2, timeout_s=1)
        except Unavailable:
            continue
        found, start = list(batch.values), batch.next_offset
    assert found == [b"3"]
    consumer.close()
