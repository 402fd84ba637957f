"""Reads some messages of one partition, within bounds, by a consumer that leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from segments.domain.realtime.streams.stream_offset import Offset
from segments.gateways.streams import Stream
from segments.services.core.context import Context


@dataclass(frozen=True)
class Message:
    """``stored_ms``: when it was stored (epoch milliseconds); 0: not known. ``key`` is None where it has none."""

    offset: Offset
    value: bytes
    key: bytes | None
    stored_ms: int


@dataclass(frozen=True)
class Bounds:
    """The most messages and bytes that are read, and the seconds that it may take."""

    messages: int
    size: int
    seconds: float


def read_messages(
    ctx: Context, stream: Stream, partition: int, start: Offset, stop: Offset, bounds: Bounds
) -> Iterator[tuple[Message, Offset]]:
    """Messages from ``start`` (inclusive) to ``stop`` (exclusive), each with the offset to go on at after it.

    ``partition`` is the stream's own number. Ends early at a bound, or when nothing comes. Raises Unavailable.
    """
    until = ctx.timer.seconds() + bounds.seconds
    left, size, at = bounds.messages, bounds.size, start
    with closing(stream.consumer(partition, is_brief=True)) as consumer:
        while at < stop and left > 0 and size > 0:
            patience = until - ctx.timer.seconds()
            if patience <= 0:
                return
            batch = consumer.fetch(at, max_messages=left, timeout_s=patience, stop=stop)
            if not len(batch) and batch.next_offset == at:
                return
            offsets = [at if batch.offset_of is None else batch.offset_of(i) for i in range(len(batch))]
            for i, value in enumerate(batch.values):
                key = batch.keys[i] if batch.keys is not None else None
                after = offsets[i + 1] if i + 1 < len(offsets) else batch.next_offset
                yield Message(offsets[i], value, key, int(batch.timestamps_ms[i])), after
                size -= len(value)
            left -= len(batch)
            at = batch.next_offset
