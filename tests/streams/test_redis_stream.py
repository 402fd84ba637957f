"""Redis Streams: which removed entries count as lost, odd entries, and a server that goes down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from segments.domain.realtime.streams.offset_auto_reset import ENABLE, SECONDS
from segments.domain.realtime.streams.stream_config import parse_stream_config
from segments.domain.realtime.streams.stream_offset import parse_offset
from segments.errors import InvalidInput, Unavailable
from segments.gateways.streams import open_stream, stream_access
from segments.gateways.streams import redis as gateway
from segments.services.realtime.offset_auto_reset import skip_to_newest
from segments.services.realtime.stream_facts import StreamFacts
from tests.real_parts import free_port
from tests.services.realtime_world import RealtimeWorld
from tests.streams.conftest import ACCESS, RedisWorld


@pytest.fixture
def world(valkey: int) -> RedisWorld:
    return RedisWorld(valkey)


def forget() -> None:
    """As after a restart of the process."""
    gateway._progress.clear()


def test_messages_between_two_ids_are_counted_up_to_a_bound(
    world: RedisWorld, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids do not number the entries: in the middle they are fetched in pages, of the whole stream its
    length is known.
    """
    monkeypatch.setattr("segments.gateways.streams.redis_pages._FIRST", 1)
    world.create(topic, 1)
    stream = world.open(topic)
    start = stream.earliest(0)
    assert stream.count(0, start, stream.latest(0), 100) == 0
    world.send(topic, 0, [b"x"] * 10)
    end = stream.latest(0)
    middle = stream.consumer(0).fetch(start, max_messages=4, timeout_s=1).next_offset
    assert [stream.count(0, a, b, 100) for a, b in ((start, end), (start, middle), (middle, end), (end, end))] == [
        10,
        4,
        6,
        0,
    ]
    assert [stream.count(0, a, end, 5) for a in (start, middle)] == [None, None]


@pytest.fixture
def large(world: RedisWorld, topic: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Any]:
    """The stream with so many messages of 1,000 bytes, of which three fit into a reply."""

    def opened(count: int) -> Any:
        monkeypatch.setattr("segments.gateways.streams.redis_pages._REPLY_BYTES", 3_000)
        world.create(topic, 1)
        world.send(topic, 0, [b"x" * 1_000] * count)
        return world.open(topic)

    return opened


def test_large_messages_are_counted_a_few_at_once(large: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    stream, asked = large(60), []
    start, end = stream.earliest(0), stream.latest(0)
    begin = stream.consumer(0).fetch(start, max_messages=1, timeout_s=1).next_offset
    ask = stream._client.execute_command

    def noted(*command: Any, **more: Any) -> Any:
        asked.append(command)
        return ask(*command, **more)

    monkeypatch.setattr(stream._client, "execute_command", noted)
    assert stream.count(0, begin, end, 100) == 59
    assert {command[-1] for command in asked if command[0] == "XRANGE"} == {8, 2}


def test_of_large_messages_as_many_of_the_last_are_meant_as_fit(large: Callable[[int], Any]) -> None:
    stream = large(30)

    def left(most: int, size: int) -> int | None:
        return stream.count(0, stream.tail(0, most, size), stream.latest(0), 100)

    assert [left(50, 20_000), left(50, 10), left(12, 1 << 20), left(50, 1 << 20)] == [20, 1, 12, 30]


def test_trimming_what_was_read_loses_nothing(world: RedisWorld, topic: str) -> None:
    world.create(topic, 1)
    world.send(topic, 0, [b"a", b"b", b"c"])
    stream = world.open(topic)
    end = stream.consumer(0).fetch(stream.earliest(0), max_messages=10, timeout_s=1).next_offset
    world.truncate(topic, 0, 3)
    world.send(topic, 0, [b"d"])
    batch = stream.consumer(0).fetch(
        end, max_messages=10, timeout_s=1
    )  # another consumer of this process: the next segment's
    assert (batch.values, batch.lost) == ([b"d"], None)


def test_trimming_beyond_what_was_read_is_a_loss_also_after_a_restart(world: RedisWorld, topic: str) -> None:
    world.create(topic, 1)
    world.send(topic, 0, [b"a", b"b", b"c", b"d"])
    stream = world.open(topic)
    end = stream.consumer(0).fetch(stream.earliest(0), max_messages=2, timeout_s=1).next_offset
    world.truncate(topic, 0, 3)
    for restart in (False, True):
        if restart:
            forget()
        batch = stream.consumer(0).fetch(end, max_messages=10, timeout_s=1)
        assert (batch.values, batch.lost) == ([b"d"], (end, stream.earliest(0)))


def test_a_stream_that_lost_everything_is_reported_without_waiting_for_the_next_message(
    world: RedisWorld, topic: str
) -> None:
    world.create(topic, 1)
    world.send(topic, 0, [b"a", b"b", b"c"])
    stream = world.open(topic)
    start = stream.earliest(0)
    world.truncate(topic, 0, 3)
    batch = stream.consumer(0).fetch(start, max_messages=10, timeout_s=0.1)
    assert (len(batch), batch.lost, batch.next_offset) == (0, (start, stream.latest(0)), stream.latest(0))


def test_an_empty_stream_that_once_had_an_entry_begins_without_a_loss(world: RedisWorld, topic: str) -> None:
    world.create(topic, 1)  # an entry was added and deleted
    stream = world.open(topic)
    start = stream.earliest(0)
    world.send(topic, 0, [b"a"])
    forget()
    batch = stream.consumer(0).fetch(start, max_messages=10, timeout_s=1)
    assert (batch.values, batch.lost) == ([b"a"], None)


def test_messages_of_a_stream_that_does_not_exist_yet_are_waited_for(world: RedisWorld, topic: str) -> None:
    stream = world.open(topic, **{"stream.redis.partitions": "2"})
    assert stream.partitions() == [0, 1]
    consumer, start = stream.consumer(1), stream.latest(1)
    assert len(consumer.fetch(start, max_messages=10, timeout_s=0.05)) == 0
    world.send(topic, 1, [b"a"])
    assert consumer.fetch(start, max_messages=10, timeout_s=5).values == [b"a"]


def test_the_value_is_found_next_to_other_fields_and_an_entry_without_one_is_empty(
    world: RedisWorld, topic: str
) -> None:
    world.client.xadd(f"{topic}-0", {"key": b"k", "value": b"v"})
    world.client.xadd(f"{topic}-0", {"other": b"x"})
    stream = world.open(topic)
    assert stream.consumer(0).fetch(stream.earliest(0), max_messages=10, timeout_s=1).values == [b"v", b""]


def test_a_server_that_does_not_answer_is_unavailable_and_the_next_fetch_tries_again(valkey: int, topic: str) -> None:
    config = parse_stream_config({"streamType": "redis", "stream.redis.topic.name": topic})
    absent = open_stream(config, stream_access(f"redis://127.0.0.1:{free_port()}/0"))
    with pytest.raises(Unavailable, match=topic):
        absent.partitions()
    world = RedisWorld(valkey)
    world.send(topic, 0, [b"a"])
    stream = world.open(topic)
    consumer, start = stream.consumer(0), stream.earliest(0)
    assert consumer.fetch(start, max_messages=1, timeout_s=1).values == [b"a"]
    world.client.client_kill_filter(_type="normal", skipme=True)
    with pytest.raises(Unavailable, match=topic):
        consumer.fetch(start, max_messages=1, timeout_s=1)
    assert consumer.fetch(start, max_messages=1, timeout_s=1).values == [b"a"]


def test_a_config_without_a_server_is_refused(topic: str) -> None:
    config = parse_stream_config({"streamType": "redis", "stream.redis.topic.name": topic})
    with pytest.raises(InvalidInput, match=r"stream\.redis\.url"):
        open_stream(config)


def test_large_entries_come_in_small_batches(world: RedisWorld, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redis counts entries, not bytes: ten thousand of a megabyte would not fit into memory."""
    monkeypatch.setattr(gateway, "_FIRST_ENTRIES", 4)
    monkeypatch.setattr(gateway, "_REPLY_BYTES", 10_000)
    world.create(topic, 1)
    world.send(topic, 0, [bytes(1_000)] * 30 + [b"x"] * 100)
    stream = world.open(topic)
    consumer, at, sizes = stream.consumer(0), stream.earliest(0), list[int]()
    while sum(sizes) < 130:
        batch = consumer.fetch(at, max_messages=10_000, timeout_s=1)
        at = batch.next_offset
        sizes.append(len(batch))
    assert (sizes[0], max(sizes[:3])) == (4, 9)
    assert max(sizes) > 9


@pytest.mark.django_db
def test_a_message_that_came_late_has_not_waited_because_nothing_came_before_it(
    world: RedisWorld, topic: str, tmp_path: Path
) -> None:
    """Ids are times: half an hour ago is behind what was read last, though nothing waits in between."""
    cluster = RealtimeWorld(tmp_path, create=False)
    now, hour = cluster.now, 3_600_000
    world.client.xadd(f"{topic}-0", {"value": b"read"}, id=f"{now - 3 * hour}-0")
    config = world.config(topic, **{ENABLE: "true", SECONDS: "1800"})
    start = parse_offset("redis", f"{now - 3 * hour}-1")

    def skipped() -> str | None:
        facts = StreamFacts(replace(cluster.ctx, streams=lambda found: open_stream(found, ACCESS)), [config])
        try:
            found = skip_to_newest(facts, 0, start)
        finally:
            facts.close()
        return found.end if found is not None else None

    assert skipped() is None
    world.client.xadd(f"{topic}-0", {"value": b"late"}, id=f"{now - 1000}-0")
    assert skipped() is None
    world.client.delete(f"{topic}-0")
    for moment in (now - hour, now - 1000):
        world.client.xadd(f"{topic}-0", {"value": b"waits"}, id=f"{moment}-0")
    assert skipped() == f"{now - 1000}-1"
