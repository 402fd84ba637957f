"""What every stream offers: partitions, offsets, and one consumer per partition that fetches batches of
message bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from segments.domain.realtime.streams.offset_criteria import OffsetCriteria
from segments.domain.realtime.streams.retention import Retention
from segments.domain.realtime.streams.stream_offset import Offset
from segments.errors import Unavailable


class UnknownTopic(Unavailable):
    """The stream's server answers, but has no such topic: now, as it may be made at any time."""


@dataclass(frozen=True)
class Batch:
    """Messages of one partition, in order.

    ``next_offset`` is the exclusive end: where the next fetch starts, also when the batch is empty. ``timestamps_ms``
    has one time per message (when the producer or the stream stored it; 0 when unknown). ``lost`` is [from, to): the
    stream had already dropped these offsets, and the batch begins at ``to`` or after it. ``offset_of(i)`` is the offset
    of message i. ``keys`` is None where the stream has none or nobody needs them.
    """

    values: Sequence[bytes]
    next_offset: Offset
    timestamps_ms: NDArray[np.int64]
    keys: Sequence[bytes | None] | None = None
    lost: tuple[Offset, Offset] | None = None
    offset_of: Callable[[int], Offset] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def first(self, count: int) -> Batch:
        """Its first messages, as if no other had been fetched; at least one, and fewer than all."""
        assert self.offset_of is not None
        keys = self.keys if self.keys is None else self.keys[:count]
        next_offset, times = self.offset_of(count), self.timestamps_ms[:count]
        return replace(self, values=self.values[:count], next_offset=next_offset, timestamps_ms=times, keys=keys)


class PartitionConsumer(Protocol):
    """Reads one partition; used by one thread, except :meth:`wake` and :meth:`close`, which any thread may call."""

    def fetch(self, start: Offset, *, max_messages: int, timeout_s: float, stop: Offset | None = None) -> Batch:
        """Messages from ``start`` (inclusive) on, at most ``max_messages`` and none at or after ``stop``.

        Returns as soon as anything is there, and an empty batch after ``timeout_s`` or after :meth:`wake`. Raises
        Unavailable with the cause when the stream does not answer; a later fetch tries again automatically.
        """

    def wake(self) -> None:
        """Makes a running fetch, or else the next one, return at once (within some 20 ms), with what it has."""

    def close(self) -> None:
        """Ends the connection. Idempotent."""


class Stream(Protocol):
    """One topic. All methods raise Unavailable with the cause when the stream does not answer."""

    def partitions(self) -> list[int]:
        """Partition numbers within this stream, from 0 on. Unavailable as well when there is no such topic."""

    def earliest(self, partition: int) -> Offset:
        """The first offset that can be read."""

    def latest(self, partition: int) -> Offset:
        """The exclusive end: every message stored so far is before it."""

    def offset_at(self, partition: int, epoch_ms: int) -> Offset:
        """The first message stored at that time or later; :meth:`latest` when there is none."""

    def tail(self, partition: int, most: int, size: int) -> Offset:
        """Where the last ``most`` messages begin, or, of a stream that knows them before they are read, as many of them
        as have about ``size`` bytes.
        """

    def count(self, partition: int, start: Offset, end: Offset, most: int) -> int | None:
        """Messages that are stored from ``start`` (inclusive) to ``end`` (exclusive); None when they are more than
        ``most``.
        """

    def retention(self, partition: int, now_ms: int) -> Retention:
        """How long it keeps messages; ``unknown`` with the reason where it does not say."""

    def consumer(self, partition: int, *, is_brief: bool = False) -> PartitionConsumer:
        """A new consumer with a connection of its own. ``is_brief``: it is to read a few messages only, takes little
        into memory at once, and leaves nothing behind.
        """

    def close(self) -> None:
        """Ends the connection; consumers live on. Idempotent."""


def numbered(start: Offset, end: Offset, most: int) -> int | None:
    """``Stream.count`` for streams whose offsets number their messages."""
    count = max(0, end.value[0] - start.value[0])
    return count if count <= most else None


def offset_for(stream: Stream, partition: int, criteria: OffsetCriteria, now_ms: int) -> Offset:
    """Where a partition's first segment begins by the table's criteria. Raises Unavailable."""
    if criteria.kind == "smallest":
        return stream.earliest(partition)
    moment = criteria.moment_ms(now_ms)
    return stream.latest(partition) if moment is None else stream.offset_at(partition, moment)
