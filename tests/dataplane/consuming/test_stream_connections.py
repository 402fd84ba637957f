"""Connections of a consuming server to its streams: given back, used again, closed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from segments.dataplane.server.consuming.partition_reader import PartitionReader
from segments.dataplane.server.consuming.read_ahead import ReadAhead
from segments.dataplane.server.consuming.shared_resources import ConsumingSettings
from segments.dataplane.server.consuming.source import read_source
from segments.dataplane.server.consuming.stream_pool import StreamPool
from segments.dataplane.server.consuming_info import ConsumingInfo
from segments.domain.realtime.streams.stream_config import StreamConfig
from segments.errors import Unavailable
from segments.gateways.streams.memory import MemoryStream
from tests.dataplane.consuming_world import RT, ConsumingWorld, instance
from tests.dataplane.world import poll


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ConsumingWorld]:
    """An empty cluster."""
    made = ConsumingWorld(tmp_path)
    yield made
    made.close()


def test_connections_that_nobody_uses_are_closed(world: ConsumingWorld) -> None:
    """A table that is paused or dropped has no next segment that would come for them."""
    world.create_realtime()
    world.send(1)
    source, closed = read_source(world.store, RT, world.chain()[0], instance(1)), list[object]()

    def opened(config: StreamConfig) -> MemoryStream:
        stream = world.stream.open(config)
        stream.close = lambda: closed.append(stream)  # type: ignore[method-assign]
        return stream

    pool = StreamPool(opened)
    intake = PartitionReader(source, source.start, pool)
    intake.read(10, 0.1)
    consumer = intake._consumer
    intake.rest()
    pool.tidy()
    assert pool.take(source.stream, 0) is consumer
    pool.give_back(source.stream, 0, consumer)  # type: ignore[arg-type]
    pool.tidy(time.monotonic() + 61)
    assert (closed, pool.take(source.stream, 0) is consumer) == ([], False)
    pool.tidy(time.monotonic() + 601)
    assert len(closed) == 1
    assert pool.stream(source.stream) is not closed[0]


def test_what_was_read_ahead_for_nobody_gives_its_connection_back(world: ConsumingWorld) -> None:
    world.create_realtime()
    source = read_source(world.store, RT, world.chain()[0], instance(1))
    pool = StreamPool(world.stream.open)
    consumer = pool.take(source.stream, 0)
    pool.give_back(source.stream, 0, consumer)
    ahead = ReadAhead(PartitionReader(source, source.start, pool), ConsumingSettings())
    ahead.start()
    poll(lambda: not any(pool._idle.values()), what="it reads")
    ahead.stop()
    poll(lambda: any(pool._idle.values()), 2.0, "the connection is free")
    assert pool.take(source.stream, 0) is consumer


def test_a_stream_that_does_not_answer_is_not_asked_for_every_partition(
    world: ConsumingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    segment = world.create_realtime()
    world.start_server()
    # No rows are not a sign that it has begun.
    poll(lambda: world.view(segment) == {instance(1): "CONSUMING"}, what="a consuming segment")
    asked = list[int]()

    def silent(_: MemoryStream, partition: int) -> None:
        asked.append(partition)
        raise Unavailable("It takes half a minute to say so.")

    monkeypatch.setattr(MemoryStream, "latest", silent)
    info = ConsumingInfo(world.servers[1].slots, StreamPool(world.stream.open))
    for _ in range(5):
        (told,) = info.pinot(RT)
        assert told["segmentName"] == segment
        assert told["partitionOffsetInfo"]["recordsLag"] == {"0": "NOT_CALCULATED"}
    assert asked == [0]
