"""A stream in memory for tests: topics with partitions, expiry, outages; offsets are whole numbers."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from segments.domain.realtime.streams.retention import Retention
from segments.domain.realtime.streams.stream_config import StreamConfig
from segments.domain.realtime.streams.stream_offset import Offset, parse_offset
from segments.errors import Unavailable
from segments.gateways.streams.base import Batch, UnknownTopic, numbered


@dataclass
class _Log:
    first: int = 0
    values: list[bytes] = field(default_factory=list)
    times: list[int] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.first + len(self.values)


class MemoryBroker:
    """Holds topics. ``open`` has the shape of :func:`segments.gateways.streams.open_stream`. Safe to use from several
    threads.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self._topics: dict[str, list[_Log]] = {}
        self.is_down = False
        self.keeps = Retention("forever")

    def create(self, topic: str, partitions: int = 1) -> None:
        """Add a topic, or partitions to it."""
        with self.changed:
            logs = self._topics.setdefault(topic, [])
            logs += [_Log() for _ in range(partitions - len(logs))]

    def send(self, topic: str, partition: int, values: Sequence[bytes], time_ms: int = 0) -> None:
        """Append messages, all stored at one time."""
        with self.changed:
            log = self._topics[topic][partition]
            log.values += values
            log.times += [time_ms] * len(values)
            self.changed.notify_all()

    def expire(self, topic: str, partition: int, before: int) -> None:
        """Drop the messages before an offset."""
        with self.changed:
            log = self._topics[topic][partition]
            count = min(max(0, before - log.first), len(log.values))
            del log.values[:count], log.times[:count]
            log.first += count

    def open(self, config: StreamConfig, defaults: object = None) -> MemoryStream:
        """The stream of a config."""
        return MemoryStream(self, config.topic, config.type)

    def logs(self, topic: str) -> list[_Log]:
        """The partitions; Unavailable while ``is_down`` or for an unknown topic."""
        if self.is_down:
            raise Unavailable(f"Topic '{topic}' cannot be read: the broker is down.")
        if topic not in self._topics:
            raise UnknownTopic(f"Topic '{topic}' cannot be read: no such topic.")
        return self._topics[topic]


class MemoryStream:
    """One topic; see :class:`segments.gateways.streams.base.Stream`."""

    def __init__(self, broker: MemoryBroker, topic: str, kind: str = "memory") -> None:
        self._broker, self._topic, self._kind = broker, topic, kind

    def partitions(self) -> list[int]:
        """See :class:`segments.gateways.streams.base.Stream`."""
        return list(range(len(self._broker.logs(self._topic))))

    def earliest(self, partition: int) -> Offset:
        """See :class:`segments.gateways.streams.base.Stream`."""
        return self.offset(self._log(partition).first)

    def latest(self, partition: int) -> Offset:
        """See :class:`segments.gateways.streams.base.Stream`."""
        return self.offset(self._log(partition).end)

    def offset_at(self, partition: int, epoch_ms: int) -> Offset:
        """See :class:`segments.gateways.streams.base.Stream`."""
        log = self._log(partition)
        return self.offset(log.first + next((i for i, t in enumerate(log.times) if t >= epoch_ms), len(log.times)))

    def tail(self, partition: int, most: int, size: int) -> Offset:
        """By their numbers."""
        log = self._log(partition)
        return self.offset(max(log.first, log.end - most))

    def count(self, partition: int, start: Offset, end: Offset, most: int) -> int | None:
        """Offsets number the messages."""
        return numbered(start, end, most)

    def retention(self, partition: int, now_ms: int) -> Retention:
        """As the broker was made to say."""
        self._log(partition)
        return self._broker.keeps

    def consumer(self, partition: int, *, is_brief: bool = False) -> MemoryConsumer:
        """See :class:`segments.gateways.streams.base.Stream`."""
        return MemoryConsumer(self._broker, self._topic, partition, self)

    def close(self) -> None:
        """Nothing to end."""

    def offset(self, value: int) -> Offset:
        """A number as offset."""
        return parse_offset(self._kind, str(value))

    def _log(self, partition: int) -> _Log:
        return self._broker.logs(self._topic)[partition]


class MemoryConsumer:
    """One partition; see :class:`segments.gateways.streams.base.PartitionConsumer`."""

    def __init__(self, broker: MemoryBroker, topic: str, partition: int, stream: MemoryStream) -> None:
        self._broker, self._topic, self._partition, self._stream = broker, topic, partition, stream
        self._woken = False
        self._closed = False

    def fetch(self, start: Offset, *, max_messages: int, timeout_s: float, stop: Offset | None = None) -> Batch:
        """See :class:`segments.gateways.streams.base.PartitionConsumer`."""
        first, last = start.value[0], None if stop is None else stop.value[0]
        with self._broker.changed:
            self._log()
            self._broker.changed.wait_for(lambda: self._woken or self._log().end > first, timeout_s)
            self._woken = False
            log = self._log()
            begin = max(first, log.first)
            end = min(begin + max_messages, log.end, *(() if last is None else (last,)))
            end = max(begin, end)
            values = log.values[begin - log.first : end - log.first]
            stored = log.times[begin - log.first : end - log.first]
        offset = self._stream.offset
        lost = (start, offset(begin)) if begin > first else None
        return Batch(values, offset(end), np.array(stored, np.int64), lost=lost, offset_of=lambda i: offset(begin + i))

    def wake(self) -> None:
        """See :class:`segments.gateways.streams.base.PartitionConsumer`."""
        with self._broker.changed:
            self._woken = True
            self._broker.changed.notify_all()

    def close(self) -> None:
        """See :class:`segments.gateways.streams.base.PartitionConsumer`."""
        self._closed = True
        self.wake()

    def _log(self) -> _Log:
        if self._closed:
            raise Unavailable(f"The consumer of partition {self._partition} is closed.")
        return self._broker.logs(self._topic)[self._partition]
