"""What the streams of a table say: partitions and offsets, each asked once per use case, connections
closed at the end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Final, TypeVar

from segments.domain.realtime.pause import PARTITIONS_PER_TOPIC, stream_partition, topic_of
from segments.domain.realtime.streams.retention import Retention
from segments.domain.realtime.streams.stream_config import StreamConfig
from segments.domain.realtime.streams.stream_offset import Offset, parse_offset
from segments.errors import InvalidInput, PinotAdminError, Unavailable
from segments.gateways.streams import Stream, offset_for
from segments.gateways.streams.lost_range import lost_range
from segments.metrics.consumption import PARTITION_FETCH_ERRORS
from segments.services.core.context import Context

T = TypeVar("T")
log = logging.getLogger(__name__)
#: Between attempts to learn an offset (Pinot tries three times).
_PAUSES_S: Final = (0.1, 0.3, 0.6)
#: Seconds that a message may take that is there.
_PATIENCE_S: Final = 3.0


class StreamFacts:
    """Partition ids are the table's. Every question raises Unavailable when its stream does not answer."""

    def __init__(self, ctx: Context, configs: Sequence[StreamConfig]) -> None:
        self.configs = tuple(configs)
        self._ctx = ctx
        self._open: dict[int, Stream] = {}
        self._partitions: dict[int, frozenset[int]] = {}
        self._earliest: dict[int, Offset] = {}
        self._down: dict[int, Unavailable] = {}

    @property
    def topics(self) -> int:
        """Number of streams."""
        return len(self.configs)

    def config_of(self, partition: int) -> StreamConfig:
        """The stream that a partition belongs to. InvalidInput when the table has none such any more."""
        index = topic_of(partition, self.topics)
        if index >= self.topics:
            raise InvalidInput(f"Partition {partition} belongs to stream {index}, but the table reads {self.topics}.")
        return self.configs[index]

    def partitions_of_topic(self, index: int) -> frozenset[int]:
        """The table's partition ids of one stream."""
        if index not in self._partitions:
            base = index * PARTITIONS_PER_TOPIC if self.topics > 1 else 0
            self._partitions[index] = frozenset(
                base + p for p in self._unless_down(index, lambda: self._stream(index).partitions())
            )
        return self._partitions[index]

    def partitions(self) -> frozenset[int]:
        """All partition ids of the table."""
        return frozenset().union(*(self.partitions_of_topic(i) for i in range(self.topics)))

    def earliest(self, partition: int) -> Offset:
        """The first offset that can be read."""
        if partition not in self._earliest:
            self._earliest[partition] = self._offset(partition, lambda stream, own: stream.earliest(own))
        return self._earliest[partition]

    def latest(self, partition: int) -> Offset:
        """The exclusive end right now."""
        return self._offset(partition, lambda stream, own: stream.latest(own))

    def count(self, partition: int, start: Offset, end: Offset, most: int) -> int | None:
        """Messages from ``start`` to ``end``; None when they are more than ``most``, where the stream's offsets do not
        number them.
        """
        if len(start.value) == 1:
            return max(0, end.value[0] - start.value[0])
        index = self.config_of(partition).index if self.topics > 1 else 0
        own = stream_partition(partition, self.topics)
        return self._unless_down(index, lambda: self._stream(index).count(own, start, end, most))

    def lost(self, partition: int, start: Offset, end: Offset) -> tuple[Offset, Offset] | None:
        """What the stream has lost of [start, end); None: nothing."""
        index = self.config_of(partition).index if self.topics > 1 else 0
        own = stream_partition(partition, self.topics)
        return self._unless_down(index, lambda: lost_range(self._stream(index), own, start, end))

    def retention(self, partition: int) -> Retention:
        """How long the stream keeps messages; of a stream that reports it by topic, asked once."""
        index = self.config_of(partition).index if self.topics > 1 else 0
        own = stream_partition(partition, self.topics)
        return self._unless_down(index, lambda: self._stream(index).retention(own, self._ctx.clock()))

    def since(self, partition: int, age_ms: int) -> Offset:
        """The first message that was stored at most so long ago; the end where there is none."""
        moment = self._ctx.clock() - age_ms
        return self._offset(partition, lambda stream, own: stream.offset_at(own, moment))

    def stored_ms(self, partition: int, offset: Offset) -> int | None:
        """When the first message from ``offset`` on was stored, in epoch milliseconds; None: there is none, or it does
        not say.
        """
        index = self.config_of(partition).index if self.topics > 1 else 0
        own = stream_partition(partition, self.topics)

        def first() -> int | None:
            with closing(self._stream(index).consumer(own, is_brief=True)) as consumer:
                times = consumer.fetch(offset, max_messages=1, timeout_s=_PATIENCE_S).timestamps_ms
            return int(times[0]) if len(times) and times[0] > 0 else None

        return self._unless_down(index, first)

    def first(self, partition: int) -> Offset:
        """Where the table's own criteria begin."""
        criteria, now = self.config_of(partition).criteria, self._ctx.clock()
        return self._offset(partition, lambda stream, own: offset_for(stream, own, criteria, now))

    def opened(self, partition: int) -> tuple[Stream, int]:
        """The stream that a partition is of, and its number there; closed together with the others."""
        index = self.config_of(partition).index if self.topics > 1 else 0
        return self._stream(index), stream_partition(partition, self.topics)

    def parse(self, partition: int, text: str) -> Offset:
        """An offset of this partition's stream. Raises InvalidInput."""
        return parse_offset(self.config_of(partition).type, text)

    def close(self) -> None:
        """End the connections."""
        for stream in self._open.values():
            try:
                stream.close()
            except PinotAdminError:
                log.exception("A stream did not close.")

    def _offset(self, partition: int, ask: Callable[[Stream, int], Offset]) -> Offset:
        """Asked again for a moment: a topic just made, or one whose leader moves, has partitions before
        it has offsets.
        """
        index = self.config_of(partition).index if self.topics > 1 else 0

        def patiently() -> Offset:
            own = stream_partition(partition, self.topics)
            for pause_s in _PAUSES_S:
                try:
                    return ask(self._stream(index), own)
                except Unavailable:
                    self._ctx.timer.pause(pause_s)
            return ask(self._stream(index), own)

        return self._unless_down(index, patiently)

    def _unless_down(self, index: int, ask: Callable[[], T]) -> T:
        """A stream that did not answer once is not waited for again."""
        if index in self._down:
            raise self._down[index]
        try:
            return ask()
        except Unavailable as error:
            self._down[index] = error
            PARTITION_FETCH_ERRORS.add(self._ctx.cluster)
            raise

    def _stream(self, index: int) -> Stream:
        if index not in self._open:
            self._open[index] = self._ctx.streams(self.configs[index])
        return self._open[index]


@contextmanager
def stream_facts(ctx: Context, configs: Sequence[StreamConfig]) -> Iterator[StreamFacts]:
    """Facts of these streams, closed at the end."""
    facts = StreamFacts(ctx, configs)
    try:
        yield facts
    finally:
        facts.close()
