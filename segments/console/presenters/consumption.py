"""The consumption of a realtime table: one line per partition with its segments, replicas, lag and the history of its
lag; messages that were set aside, and ranges that the stream had dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from segments.console.presenters.badges import Mark, mark
from segments.models import LagSample, Segment, Table
from segments.services.realtime.consumers import Consumer
from segments.services.realtime.lag import KEPT, PartitionLag
from segments.store.records.data_loss import DataLoss

WIDTH: Final = 160
HEIGHT: Final = 36
#: From this age of the last consumed message on a partition is shown as behind.
_LATE_MS: Final = 60_000
#: Messages set aside that are shown of a partition, and losses that are shown of a table.
SAMPLES: Final = 5
LOSSES: Final = 20


@dataclass(frozen=True)
class Sample:
    """A message that gave no row: where it stands in the stream, and why."""

    partition: int
    offset: str
    reason: str


@dataclass(frozen=True)
class Gap:
    """A range of the stream that was not read. ``count``: messages in it; None: neither record nor offsets say."""

    loss: DataLoss
    count: int | None


@dataclass(frozen=True)
class Line:
    """One partition. ``chart`` are the points of a polyline in a box of WIDTH by HEIGHT, from ``since`` on; ``most``
    the largest lag in it: messages, or with ``is_time`` milliseconds, where offsets do not count messages.
    """

    partition: int
    mark: Mark
    segment: Segment | None
    lag: PartitionLag | None
    is_paused: bool
    chart: str
    most: int
    since: datetime | None = None
    is_time: bool = False
    consumers: tuple[Consumer, ...] = ()
    #: The newest sample of its lag; while nobody consumes, of what waits in the stream.
    last: LagSample | None = None

    @property
    def problems(self) -> list[str]:
        """Why replicas wait, each reason once."""
        return sorted({c.problem for c in self.consumers if c.problem})

    @property
    def is_consumed(self) -> bool:
        """Does a server say that it consumes the partition?"""
        return self.lag is not None and any(r.is_consuming for r in self.lag.replicas)

    @property
    def rows(self) -> int | None:
        """Rows of the consuming segment, on the replica that has most; None when no server reports them."""
        return max((c.rows for c in self.consumers), default=None)

    @property
    def memory(self) -> int | None:
        """Bytes of it, on the same terms."""
        return max((c.bytes for c in self.consumers), default=None)

    @property
    def bad(self) -> int:
        """Messages of this segment that gave no row."""
        return max((c.bad_messages for c in self.consumers), default=0)

    @property
    def bad_share(self) -> str:
        """Of all messages that were read, as ``2 of 40``; empty when there are none."""
        worst = max(self.consumers, key=lambda c: c.bad_messages, default=None)
        return f"{worst.bad_messages:,} of {worst.messages:,} messages" if worst and worst.bad_messages else ""

    @property
    def samples(self) -> list[Sample]:
        """The first messages that were set aside, of the replica that set aside most."""
        worst = max(self.consumers, key=lambda c: c.bad_messages, default=None)
        return [Sample(self.partition, b.offset, b.reason) for b in worst.samples[:SAMPLES]] if worst else []

    @property
    def replicas(self) -> list[tuple[str, Mark]]:
        """Server and state, from the mirror."""
        return [(i, mark(str(s))) for i, s in sorted(self.segment.replicas.items())] if self.segment else []


def gaps(losses: Sequence[DataLoss]) -> list[Gap]:
    """The last losses, newest first."""
    last = reversed(losses[-LOSSES:])
    return [Gap(x, _between(x.start, x.end) if x.count is None else x.count) for x in last]


def lines(
    table: Table, lags: Sequence[PartitionLag], paused: Sequence[int], now: datetime, consumers: Sequence[Consumer] = ()
) -> list[Line]:
    """Every partition that has a segment, in order. The newest segment of each, from the mirror; lag and counts as
    servers reported.
    """
    newest: dict[int, Segment] = {}
    for segment in Segment.objects.filter(table=table, is_consuming=True):
        newest[segment.partition or 0] = segment
    others = Segment.objects.filter(table=table, partition__isnull=False).exclude(partition__in=list(newest))
    for segment in others.order_by("partition", "sequence"):
        newest[segment.partition or 0] = segment
    by_partition = {lag.partition: lag for lag in lags}
    samples: dict[int, list[LagSample]] = {}
    for sample in LagSample.objects.filter(table=table, at__gte=now - KEPT):
        samples.setdefault(sample.partition, []).append(sample)
    found = [
        _line(table, p, newest.get(p), by_partition.get(p), p in paused, samples.get(p, []), now)
        for p in sorted(newest)
    ]
    return [replace(line, consumers=tuple(c for c in consumers if c.partition == line.partition)) for line in found]


def _line(
    table: Table,
    partition: int,
    segment: Segment | None,
    lag: PartitionLag | None,
    paused: bool,
    samples: list[LagSample],
    now: datetime,
) -> Line:
    is_time = any(s.messages is None for s in samples)
    measured = [(s.at, s.behind_ms if is_time else s.messages) for s in samples]
    values = [(at, value) for at, value in measured if value is not None]
    most = max((value for _, value in values), default=0)
    since = values[0][0] if len(values) > 1 else None
    return Line(
        partition,
        _mark(table, segment, lag, paused),
        segment,
        lag,
        paused,
        _chart(values, most, now),
        most,
        since,
        is_time=is_time,
        last=samples[-1] if samples else None,
    )


def _mark(table: Table, segment: Segment | None, lag: PartitionLag | None, paused: bool) -> Mark:
    consumes = segment is not None and segment.is_consuming
    if table.is_paused or paused:
        return Mark("stopping", "busy", "spin") if consumes else Mark("paused", "idle", "clock")
    if not consumes:
        return Mark("not consuming", "bad", "cross")
    consuming = sum(r.is_consuming for r in lag.replicas) if lag else 0
    if lag is None or not consuming:
        return Mark("no server consumes", "bad", "cross")
    if segment and consuming < segment.replicas_wanted:
        return Mark(f"{consuming} of {segment.replicas_wanted} replicas", "warn", "alert")
    if (lag.behind_ms or 0) > _LATE_MS:
        return Mark("behind", "warn", "alert")
    return Mark("consuming", "ok", "check")


def _chart(values: Sequence[tuple[datetime, int]], most: int, now: datetime) -> str:
    """Left is the first sample, a day ago at most, right is now; the largest lag touches the top."""
    if len(values) < 2:
        return ""
    span = max((now - values[0][0]).total_seconds(), 1.0)
    points = []
    for at, value in values:
        x = WIDTH * (1 - (now - at).total_seconds() / span)
        y = HEIGHT - 1 - (HEIGHT - 3) * (value / most if most else 0)
        points.append(f"{x:.1f},{y:.1f}")
    return " ".join(points)


def _between(start: str, end: str) -> int | None:
    return int(end) - int(start) if start.isdecimal() and end.isdecimal() else None
