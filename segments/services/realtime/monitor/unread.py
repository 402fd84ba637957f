"""Asks the streams of a table what waits in its partitions: how many messages, since when, until when, and what went
unread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from segments.domain.realtime.backlog import Unread
from segments.domain.realtime.realtime_table import check_realtime
from segments.domain.realtime.streams.stream_offset import Offset
from segments.errors import InvalidInput, Unavailable
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.realtime.monitor.counted import Counted, count_unread, lost_since
from segments.services.realtime.stream_facts import StreamFacts, stream_facts
from segments.services.tables.table_record import read_table_config

#: Messages that are counted one by one, at most: a minute of many, and the first time all that wait.
_MOST_COUNTED: Final = 50_000
#: Partitions whose first unread message is read in one run; of the others it is read in the next ones.
_MOST_FIRST: Final = 50


@dataclass(frozen=True)
class Place:
    """Where a partition is: its next offset; ``is_waiting``: nothing consumes it. ``since_ms``: when its first unread
    message was stored, where that is known of an earlier sample of the same offset.
    """

    partition: int
    offset: str
    is_waiting: bool
    since_ms: int | None = None


@dataclass(frozen=True)
class Examined:
    """``end`` is the stream's exclusive end; ``keeps``: how long it keeps messages, in a sentence."""

    unread: Unread
    end: str
    keeps: str


def examine(
    ctx: Context, table: TableName, places: Iterable[Place], known: Mapping[int, Counted]
) -> dict[int, Examined]:
    """By partition; without those whose stream does not answer, or does not have such an offset. Raises as reading the
    table's config.
    """
    found: dict[int, Examined] = {}
    reads = _MOST_FIRST
    with stream_facts(ctx, check_realtime(read_table_config(ctx, table))) as facts:
        for place in places:
            try:
                wanted = facts.parse(place.partition, place.offset)
                earliest = facts.earliest(place.partition)
                # When its first unread message was stored says nothing of another one, once that one has left.
                is_read = reads > 0 and (place.since_ms is None or earliest > wanted)
                reads -= is_read
                found[place.partition] = _examined(
                    facts, place, (wanted, earliest), known.get(place.partition), ctx.clock(), reads_first=is_read
                )
            except (Unavailable, InvalidInput):
                continue
    return found


def _examined(
    facts: StreamFacts, place: Place, begins: tuple[Offset, Offset], known: Counted | None, now_ms: int, *,
    reads_first: bool,
) -> Examined:  # fmt: skip
    """``begins``: where it goes on, and where the stream begins."""
    partition, (wanted, earliest) = place.partition, begins
    start, latest = max(wanted, earliest), facts.latest(partition)
    # Of a partition that is consumed its server notes what it misses.
    lost = lost_since(facts, partition, wanted, earliest, known, _MOST_COUNTED) if place.is_waiting else 0
    messages = count_unread(facts, partition, start, latest, known, _MOST_COUNTED)
    keeps, since_ms = facts.retention(partition), None
    if start < latest and messages != 0:
        since_ms = place.since_ms if start == wanted else None
        since_ms = facts.stored_ms(partition, start) if since_ms is None and reads_first else since_ms
    expires = keeps.expires_ms(since_ms) if since_ms is not None else None
    unread = Unread(partition, messages, since_ms, expires, lost, keeps.is_exact, keeps.ms)
    return Examined(unread, latest.text, keeps.sentence)
