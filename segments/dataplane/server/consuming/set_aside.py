"""Messages of one intake that gave no row, until the outbox takes them; and which of a committed segment's messages
they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from segments.dataplane.realtime.decoded import BadMessage
from segments.dataplane.server.consuming.source import Source
from segments.dataplane.server.set_aside import Outbox
from segments.domain.realtime.streams.stream_offset import Offset
from segments.domain.set_aside import Message, Settled, cut_payload
from segments.gateways.streams import Batch

#: Messages that wait for the outbox, and offsets that are remembered for the commit.
_MOST_WAITING: Final = 5_000
_MOST_OFFSETS: Final = 10_000


class SetAside:
    """One thread adds and hands over. What is read ahead is handed over only once the segment that it belongs to is
    known.
    """

    def __init__(self) -> None:
        self._waiting: list[Message] = []
        self._dropped = 0
        self._offsets: list[str] | None = []

    def add(self, source: Source, batch: Batch, found: Sequence[BadMessage], after: Offset, now_ms: int) -> None:
        """Messages of a batch that gave no row; ``after``: where the batch was fetched from, for streams that do not
        number messages.
        """
        for one in found:
            if self._offsets is None and len(self._waiting) >= _MOST_WAITING:
                self._dropped += 1
                continue
            offset = (batch.offset_of(one.position) if batch.offset_of is not None else after).text
            self._remember(offset)
            if len(self._waiting) >= _MOST_WAITING:
                self._dropped += 1
                continue
            value = batch.values[one.position]
            sent_ms = int(batch.timestamps_ms[one.position]) if one.position < len(batch.timestamps_ms) else 0
            self._waiting.append(
                Message(
                    source.stream.topic,
                    source.name.partition,
                    offset,
                    source.name.text,
                    now_ms,
                    sent_ms,
                    one.column,
                    one.reason,
                    len(value),
                    cut_payload(value),
                )
            )

    def hand_over(self, outbox: Outbox | None, source: Source, *, is_last: bool = False) -> None:
        """Give the outbox what came since the last call; ``is_last``: the segment is about to be committed, so it goes
        to disk.
        """
        if self._waiting or self._dropped:
            messages, dropped = self._waiting, self._dropped
            self._waiting, self._dropped = [], 0
            for message in messages:
                message.segment = source.name.text  # what was read ahead belongs to the segment that took it
            if outbox is not None:
                outbox.add(source.table, messages, dropped)
        if is_last and outbox is not None:
            outbox.flush()

    def settle(self, outbox: Outbox | None, source: Source, end: Offset) -> None:
        """The segment was committed up to ``end`` with these rows."""
        if outbox is not None:
            settled = Settled(source.stream.topic, source.name.partition, source.start.text, end.text, self._offsets)
            outbox.settle(source.table, settled)

    def _remember(self, offset: str) -> None:
        if self._offsets is not None and len(self._offsets) < _MOST_OFFSETS:
            self._offsets.append(offset)
        else:
            self._offsets = None
