"""What the streams of a table say: partitions and offsets, each asked once per use case, connections closed at the end."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from segments.domain.pause import PARTITIONS_PER_TOPIC, stream_partition, topic_of
from segments.domain.stream_config import StreamConfig
from segments.domain.stream_offset import Offset, parse_offset
from segments.errors import InvalidInput, PinotAdminError
from segments.gateways.streams import Stream, offset_for
from segments.services.context import Context

log = logging.getLogger(__name__)


class StreamFacts:
    """Partition ids are the table's. Every question raises Unavailable when its stream does not answer."""

    def __init__(self, ctx: Context, configs: Sequence[StreamConfig]) -> None:
        self.configs = tuple(configs)
        self._ctx = ctx
        self._open: dict[int, Stream] = {}
        self._partitions: dict[int, frozenset[int]] = {}
        self._earliest: dict[int, Offset] = {}

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
            self._partitions[index] = frozenset(base + p for p in self._stream(index).partitions())
        return self._partitions[index]

    def partitions(self) -> frozenset[int]:
        """All partition ids of the table."""
        return frozenset().union(*(self.partitions_of_topic(i) for i in range(self.topics)))

    def earliest(self, partition: int) -> Offset:
        """The first offset that can be read."""
        if partition not in self._earliest:
            self._earliest[partition] = self._of(partition).earliest(stream_partition(partition, self.topics))
        return self._earliest[partition]

    def latest(self, partition: int) -> Offset:
        """The exclusive end right now."""
        return self._of(partition).latest(stream_partition(partition, self.topics))

    def first(self, partition: int) -> Offset:
        """Where the table's own criteria begin."""
        own = stream_partition(partition, self.topics)
        return offset_for(self._of(partition), own, self.config_of(partition).criteria, self._ctx.clock())

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

    def _of(self, partition: int) -> Stream:
        return self._stream(self.config_of(partition).index if self.topics > 1 else 0)

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
