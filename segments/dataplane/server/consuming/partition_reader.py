"""Reads one partition from an offset on into a columnar buffer; one thread reads the stream, any may read the rows."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Final

from segments.dataplane.primary_keys.consuming_rows import KeyedRows
from segments.dataplane.realtime.decode import open_decoder
from segments.dataplane.realtime.decoded import Decoded
from segments.dataplane.realtime.mutable_segment import MutableSegment
from segments.dataplane.server.consuming.set_aside import SetAside
from segments.dataplane.server.consuming.source import Source
from segments.dataplane.server.consuming.stream_pool import StreamPool
from segments.domain.realtime.streams.stream_offset import Offset
from segments.domain.set_aside import shown_reason
from segments.errors import Unavailable
from segments.gateways.streams import Batch, PartitionConsumer
from segments.metrics import servers

log = logging.getLogger(__name__)

#: Positions remembered, so that a segment can be cut where the committed one ends.
_MARKS: Final = 10_000
_SAMPLES: Final = 10
#: After a batch that gave too many rows, fewer messages are fetched, until as many as these are taken again.
_USUAL: Final = 10_000


@dataclass(frozen=True)
class BadSample:
    """A message that gave no row: its offset, and why, without secrets: every reader of the table sees it."""

    offset: str
    reason: str


class RowsGone(Unavailable):
    """Rows before a given end had left the stream; nothing was taken. ``data["lost"]`` is the range [from, to)."""


class PartitionReader:
    """The reading end of a consuming segment. ``offset`` is where the next fetch starts; all rows before it are in
    ``segment``.

    ``lost`` are ranges [from, to) that the stream had dropped before they were read. ``has_null_times``: some rows have
    the creation of the segment as their time. ``last_read_ms``: clock time of the last fetch that brought messages;
    ``last_message_ms``: when the stream got the last one of them.
    """

    def __init__(self, source: Source, start: Offset, pool: StreamPool) -> None:
        self.source, self.start, self.offset = source, start, start
        self.segment = MutableSegment(source.name.text, source.schema, source.config)
        self._decoder = open_decoder(source.stream, source.schema, source.config, pool.registries)
        self._pool = pool
        self._lock = threading.Lock()
        self._consumer: PartitionConsumer | None = None
        self._marks: deque[tuple[Offset, int]] = deque([(start, 0)], _MARKS)
        self._bad: deque[BadSample] = deque(maxlen=_SAMPLES)
        self.set_aside = SetAside()
        self.messages = 0
        self.bad = 0
        self.filtered = 0
        self.has_null_times = False
        self.keyed: KeyedRows | None = None
        self.lost: list[tuple[Offset, Offset]] = []
        self.last_read_ms = 0
        self.last_message_ms = 0
        self._most = 0

    def behind(self) -> PartitionReader:
        """An empty one that begins where this one ends."""
        return PartitionReader(self.source, self.offset, self._pool)

    @property
    def bad_samples(self) -> list[BadSample]:
        """The first messages that gave no row."""
        return list(self._bad)

    def read(
        self, max_messages: int, timeout_s: float, *, stop: Offset | None = None, accepts_loss: bool = False
    ) -> int:
        """Fetch, decode, append: rows are visible when this returns how many messages came. Unavailable: nothing was
        taken.

        With a ``stop`` another replica has the rows up to there. RowsGone when this one cannot get them all: without
        them it must not come to stand where the other one does, unless somebody ``accepts_loss``.
        """
        most = min(max_messages, self._most) if self._most else max_messages
        batch = self._taken().fetch(self.offset, max_messages=most, timeout_s=timeout_s, stop=stop)
        if batch.lost is not None and stop is not None and not accepts_loss:
            raise RowsGone(f"Rows from {batch.lost[0]} to {batch.lost[1]} have left the stream.", lost=batch.lost)
        if len(batch):
            batch = self._append(batch)
        if batch.lost is not None:
            self.lost.append(batch.lost)
            servers.STREAM_DATA_LOSS.add(self.source.table)
        if batch.next_offset != self.offset:
            self.offset = batch.next_offset
            self._marks.append((batch.next_offset, self.segment.rows))
        return len(batch)

    def _append(self, batch: Batch) -> Batch:
        """Returns what of the batch was taken: messages that would give too many rows together are fetched again, fewer
        at a time.
        """
        decoded = self._decoder.decode(batch.values, now_ms=self.source.created_ms)
        is_cut = decoded.taken < len(batch)
        batch = batch.first(decoded.taken) if is_cut else batch
        self._most = decoded.taken if is_cut else self._most * 2 if self._most < _USUAL else 0
        append = self.segment.append if self.keyed is None else self.keyed.append
        append(decoded.table, decoded.masks)
        if decoded.set_aside:
            self._set_aside(batch, decoded)
        self.has_null_times |= (self.source.config.time_column or "") in decoded.masks
        self.messages += len(batch)
        self.bad += decoded.bad
        servers.ROWS_CONSUMED.add(self.source.table, by=len(batch))
        servers.ROWS_SET_ASIDE.add(self.source.table, by=decoded.bad)
        self.filtered += decoded.filtered
        self.last_read_ms = time.time_ns() // 1_000_000
        self.last_message_ms = int(batch.timestamps_ms[-1]) if len(batch.timestamps_ms) else 0
        return batch

    def _set_aside(self, batch: Batch, decoded: Decoded) -> None:
        self.set_aside.add(self.source, batch, decoded.set_aside, self.offset, time.time_ns() // 1_000_000)
        for sample in decoded.set_aside[: _SAMPLES - len(self._bad)]:
            offset = batch.offset_of(sample.position) if batch.offset_of is not None else self.offset
            self._bad.append(BadSample(offset.text, shown_reason(sample.reason, batch.values[sample.position])))

    def rows_at(self, offset: Offset) -> int | None:
        """Rows before this offset; None when it is not remembered."""
        return next((rows for at, rows in list(self._marks) if at == offset), None)

    def wake(self) -> None:
        """Let a running fetch return."""
        with self._lock:
            if self._consumer is not None:
                self._consumer.wake()

    def rest(self) -> None:
        """Give the connection back; the next read takes one again."""
        with self._lock:
            consumer, self._consumer = self._consumer, None
        if consumer is not None:
            self._pool.give_back(self.source.stream, self.source.stream_partition, consumer)

    def _taken(self) -> PartitionConsumer:
        with self._lock:
            if self._consumer is not None:
                return self._consumer
        consumer = self._pool.take(self.source.stream, self.source.stream_partition)
        with self._lock:
            self._consumer = consumer
        return consumer
