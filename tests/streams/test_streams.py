"""One suite for every stream: what consumers of partitions may rely on."""

from __future__ import annotations

import threading
import time

import pytest

from segments.domain.realtime.streams.offset_criteria import LARGEST, SMALLEST, OffsetCriteria
from segments.domain.realtime.streams.stream_offset import Offset
from segments.errors import Unavailable
from segments.gateways.streams import PartitionConsumer, offset_for
from tests.streams.conftest import StreamWorld


def messages(first: int, last: int) -> list[bytes]:
    return [b'{"n":%d}' % n for n in range(first, last)]


def read(consumer: PartitionConsumer, start: Offset, count: int, most: int = 1000) -> tuple[list[bytes], Offset]:
    """At least ``count`` messages."""
    found: list[bytes] = []
    deadline = time.monotonic() + 20
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} messages"
        batch = consumer.fetch(start, max_messages=most, timeout_s=0.5)
        assert batch.lost is None
        assert len(batch) <= most
        assert len(batch.timestamps_ms) == len(batch)
        found += batch.values
        start = batch.next_offset
    return found, start


def test_messages_come_in_order_and_the_end_of_one_fetch_is_the_start_of_the_next(
    world: StreamWorld, topic: str
) -> None:
    world.create(topic, 2)
    world.send(topic, 1, messages(0, 100))
    stream = world.open(topic)
    consumer = stream.consumer(1)
    found, end = read(consumer, stream.earliest(1), 100, most=7)
    assert found == messages(0, 100)
    assert end == stream.latest(1)
    world.send(topic, 1, messages(100, 110))
    assert read(consumer, end, 10)[0] == messages(100, 110)
    consumer.close()


def test_the_same_offset_gives_the_same_messages_again(world: StreamWorld, topic: str) -> None:
    world.create(topic, 1)
    world.send(topic, 0, messages(0, 30))
    stream = world.open(topic)
    start = stream.earliest(0)
    one, two = stream.consumer(0), stream.consumer(0)
    middle = one.fetch(start, max_messages=10, timeout_s=10).next_offset
    assert read(one, middle, 20)[0] == messages(10, 30)
    assert read(one, start, 30)[0] == messages(0, 30)
    assert read(two, middle, 20)[0] == messages(10, 30)
    one.close()
    two.close()


def test_each_message_knows_its_offset(world: StreamWorld, topic: str) -> None:
    world.create(topic, 1)
    world.send(topic, 0, messages(0, 20))
    stream = world.open(topic)
    consumer = stream.consumer(0)
    batch = consumer.fetch(stream.earliest(0), max_messages=20, timeout_s=10)
    assert batch.offset_of is not None
    position = len(batch) - 1
    again = consumer.fetch(batch.offset_of(position), max_messages=1, timeout_s=10)
    assert again.values == [batch.values[position]]
    assert batch.offset_of(position) < batch.next_offset
    consumer.close()


def test_the_first_messages_of_a_batch_are_a_batch_and_the_others_come_again(world: StreamWorld, topic: str) -> None:
    world.create(topic, 1)
    world.send(topic, 0, messages(0, 20))
    stream = world.open(topic)
    consumer = stream.consumer(0)
    batch = consumer.fetch(stream.earliest(0), max_messages=20, timeout_s=10)
    assert len(batch) > 1
    part = batch.first(len(batch) - 1)
    assert (part.values, len(part.timestamps_ms)) == (batch.values[:-1], len(batch) - 1)
    again = consumer.fetch(part.next_offset, max_messages=1, timeout_s=10)
    assert (again.values, again.lost) == ([batch.values[-1]], None)
    consumer.close()


def test_a_fetch_returns_as_soon_as_something_is_there(world: StreamWorld, topic: str) -> None:
    world.create(topic, 1)
    stream = world.open(topic)
    consumer, end = stream.consumer(0), stream.latest(0)
    consumer.fetch(end, max_messages=10, timeout_s=0.3)
    sender = threading.Timer(0.2, lambda: world.send(topic, 0, messages(0, 1)))
    begin = time.monotonic()
    sender.start()
    assert consumer.fetch(end, max_messages=1000, timeout_s=20).values == messages(0, 1)
    assert time.monotonic() - begin < 5
    sender.join()
    consumer.close()


def test_an_empty_fetch_ends_after_its_timeout_and_moves_nothing(world: StreamWorld, topic: str) -> None:
    world.create(topic, 1)
    stream = world.open(topic)
    consumer, end = stream.consumer(0), stream.latest(0)
    begin = time.monotonic()
    batch = consumer.fetch(end, max_messages=10, timeout_s=0.2)
    assert len(batch) == 0
    assert batch.next_offset == end
    assert 0.15 < time.monotonic() - begin < 5
    consumer.close()


def test_wake_ends_a_fetch_that_waits(world: StreamWorld, topic: str) -> None:
    world.create(topic, 1)
    stream = world.open(topic)
    consumer, end = stream.consumer(0), stream.latest(0)
    consumer.fetch(end, max_messages=10, timeout_s=0.1)
    waker = threading.Timer(0.2, consumer.wake)
    begin = time.monotonic()
    waker.start()
    assert len(consumer.fetch(end, max_messages=10, timeout_s=30)) == 0
    assert time.monotonic() - begin < 3
    waker.join()
    consumer.close()


def test_nothing_at_or_after_the_stop_is_read(world: StreamWorld, topic: str) -> None:
    world.create(topic, 1)
    world.send(topic, 0, messages(0, 50))
    stream = world.open(topic)
    consumer, start = stream.consumer(0), stream.earliest(0)
    stop = consumer.fetch(start, max_messages=20, timeout_s=10).next_offset
    found: list[bytes] = []
    deadline = time.monotonic() + 20
    while start < stop and time.monotonic() < deadline:
        batch = consumer.fetch(start, max_messages=1000, timeout_s=5, stop=stop)
        found += batch.values
        start = batch.next_offset
    assert start == stop
    assert found == messages(0, len(found))
    assert read(consumer, stop, 50 - len(found))[0] == messages(len(found), 50)
    consumer.close()


def test_an_expired_start_is_reported_with_its_range_and_reading_goes_on(world: StreamWorld, topic: str) -> None:
    world.create(topic, 1)
    world.send(topic, 0, messages(0, 40))
    stream = world.open(topic)
    consumer, start = stream.consumer(0), stream.earliest(0)
    middle = consumer.fetch(start, max_messages=10, timeout_s=10)
    assert len(middle) == 10
    world.truncate(topic, 0, 25)
    late = stream.consumer(0)
    begin, lost, found = middle.next_offset, None, []
    deadline = time.monotonic() + 20
    while len(found) < 15 and time.monotonic() < deadline:
        batch = late.fetch(begin, max_messages=100, timeout_s=2)
        lost = lost or batch.lost
        found += batch.values
        begin = batch.next_offset
    assert lost == (middle.next_offset, stream.earliest(0))
    assert found == messages(25, 40)
    consumer.close()
    late.close()


def test_where_a_first_segment_begins(world: StreamWorld, topic: str) -> None:
    world.create(topic, 1)
    before = int(time.time() * 1000) - 60_000
    world.send(topic, 0, messages(0, 5))
    stream = world.open(topic)
    now = int(time.time() * 1000) + 60_000
    assert offset_for(stream, 0, SMALLEST, now) == stream.earliest(0) < stream.latest(0)
    assert offset_for(stream, 0, LARGEST, now) == stream.latest(0)
    assert offset_for(stream, 0, OffsetCriteria("timestamp", now, ""), now) == stream.latest(0)
    if world.kind != "memory":  # its messages are of the year 1970
        found = offset_for(stream, 0, OffsetCriteria("period", now - before, ""), now)
        consumer = stream.consumer(0)
        assert read(consumer, found, 5)[0] == messages(0, 5)
        consumer.close()


def test_the_last_messages_begin_so_many_before_the_end(world: StreamWorld, topic: str) -> None:
    world.create(topic, 1)
    stream = world.open(topic)
    assert stream.tail(0, 5, 1 << 20) == stream.latest(0)
    world.send(topic, 0, messages(0, 60))
    for most, first in ((1, 59), (8, 52), (50, 10), (500, 0)):
        start = stream.tail(0, most, 1 << 20)
        assert read(stream.consumer(0), start, 60 - first)[0] == messages(first, 60)
    world.truncate(topic, 0, 30)
    assert stream.tail(0, 500, 1 << 20) == stream.earliest(0)


def test_new_partitions_are_found(world: StreamWorld, topic: str) -> None:
    world.create(topic, 1)
    stream = world.open(topic)
    assert stream.partitions() == [0]
    world.create(topic, 3)
    assert stream.partitions() == [0, 1, 2]


def test_a_closed_consumer_says_so(world: StreamWorld, topic: str) -> None:
    world.create(topic, 1)
    stream = world.open(topic)
    consumer = stream.consumer(0)
    consumer.fetch(stream.latest(0), max_messages=1, timeout_s=0.05)
    consumer.close()
    consumer.close()
    with pytest.raises(Unavailable, match="closed"):
        consumer.fetch(stream.latest(0), max_messages=1, timeout_s=0.05)
