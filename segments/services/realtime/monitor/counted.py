"""Counts the messages that wait in a partition. Where offsets do not number them (Redis), what the last sample counted
is not counted again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.db.models import Max

from segments.domain.realtime import backlog
from segments.domain.realtime.streams.stream_offset import Offset
from segments.errors import InvalidInput, Unavailable
from segments.models import LagSample
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.realtime.lag import KEPT
from segments.services.realtime.stream_facts import StreamFacts

#: A sample that is older is of another time.
_FRESH: Final = timedelta(minutes=5)


@dataclass(frozen=True)
class Counted:
    """``messages`` from ``offset`` on up to ``end``, of which ``lost`` more went unread (None: some)."""

    offset: str
    messages: int
    end: str
    lost: int | None


def last_counts(ctx: Context, table: TableName) -> dict[int, Counted]:
    """The newest count of each partition of the last minutes. One query."""
    now = ctx.now()
    rows = LagSample.objects.filter(
        table__cluster__name=ctx.cluster, table__name=table.typed, at__gt=now - _FRESH, messages__isnull=False
    ).exclude(end="")
    found = rows.order_by("at").values_list("partition", "offset", "messages", "end", "lost")
    return {partition: Counted(offset, messages or 0, end, lost) for partition, offset, messages, end, lost in found}


def measured_rates(ctx: Context, table: TableName) -> dict[int, float]:
    """{partition: the most rows per second that were measured within the last day}, where any were. One query."""
    now = ctx.now()
    rows = LagSample.objects.filter(
        table__cluster__name=ctx.cluster, table__name=table.typed, at__gt=now - KEPT, rows_per_s__gt=0
    )
    return dict(rows.order_by().values("partition").annotate(most=Max("rows_per_s")).values_list("partition", "most"))


def count_unread(
    facts: StreamFacts, partition: int, start: Offset, end: Offset | None, known: Counted | None, most: int
) -> int | None:
    """Messages from ``start`` to ``end``; ``most`` is as for ``StreamFacts.count``. None: not known."""
    if end is None:
        return None
    try:
        if known is not None and known.offset == start.text:
            counted_to = facts.parse(partition, known.end)
            if facts.earliest(partition) <= start and start <= counted_to <= end:
                added = facts.count(partition, counted_to, end, most)
                return None if added is None else known.messages + added
        return facts.count(partition, start, end, most)
    except (Unavailable, InvalidInput):
        return None


def lost_since(
    facts: StreamFacts, partition: int, stopped: Offset, earliest: Offset, known: Counted | None, most: int
) -> int | None:
    """Messages between where a partition stopped and the first one that the stream still has; None: some, but they
    cannot be counted. Raises Unavailable.
    """
    if earliest <= stopped:
        return 0
    if len(stopped.value) == 1:
        return earliest.value[0] - stopped.value[0]
    if known is None or known.offset != stopped.text:
        return None if facts.lost(partition, stopped, earliest) else 0
    counted_to = facts.parse(partition, known.end)
    still = facts.count(partition, earliest, counted_to, most) if counted_to > earliest else 0
    return backlog.lost_unread(known.lost, known.messages, still)
