"""Asks a stream whether a partition is too far behind for its table's config, and its next segment is to begin at the
newest message.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from segments.domain.realtime.streams.offset_auto_reset import AutoReset, auto_reset_of
from segments.domain.realtime.streams.stream_offset import Offset
from segments.domain.realtime.streams.unread_range import UnreadRange
from segments.errors import Unavailable
from segments.metrics.consumption import SKIPPED_OFFSETS
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.realtime.stream_facts import StreamFacts

log = logging.getLogger(__name__)

#: Messages of one skip that are counted one by one, at most; more, where offsets do not number them, are not known.
COUNTED: Final = 10_000


def skip_to_newest(facts: StreamFacts, partition: int, start: Offset) -> UnreadRange | None:
    """What a segment that would begin at ``start`` is to skip; None: nothing, also where the stream does not answer
    (rule `lost-rows-are-reported`: whoever skips puts it on record).
    """
    reset = auto_reset_of(facts.config_of(partition).raw)
    if reset is None:
        return None
    try:
        end = facts.latest(partition)
        if end <= start or not _is_far_behind(facts, partition, start, end, reset):
            return None
        count = facts.count(partition, start, end, COUNTED)
    except Unavailable as error:
        log.warning("Whether partition %d is too far behind at %s is not known: %s", partition, start, error)
        return None
    return UnreadRange(partition, start.text, end.text, is_skipped=True, count=count)


def _is_far_behind(facts: StreamFacts, partition: int, start: Offset, end: Offset, reset: AutoReset) -> bool:
    if reset.wait_ms is not None and _has_any(facts, partition, start, facts.since(partition, reset.wait_ms)):
        return True
    if reset.messages is None:
        return False
    waiting = facts.count(partition, start, end, reset.messages)
    return waiting is None or waiting > reset.messages


def _has_any(facts: StreamFacts, partition: int, start: Offset, end: Offset) -> bool:
    """Is a message in [start, end)? Offsets that do not number messages may leave some out."""
    return end > start and facts.count(partition, start, end, 0) != 0


def note_skip(ctx: Context, table: TableName, segment: str, skip: UnreadRange) -> None:
    """In the log and in what is measured, once the segment behind ``segment`` is written."""
    measure_skips(ctx, table, [skip.count])
    log.warning(
        "What follows %s begins at %s, as %s asks for: messages from %s on are skipped.",
        segment,
        skip.end,
        table,
        skip.start,
    )


def measure_skips(ctx: Context, table: TableName, counts: Sequence[int | None]) -> None:
    """By what is known of how many messages each skip left out."""
    SKIPPED_OFFSETS.add(ctx.cluster, table.typed, by=sum(COUNTED if count is None else count for count in counts))
