"""The consumption of a realtime table: one line per partition with its segments, replicas, lag and the history of its lag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from segments.console.presenters.tones import Mark, mark
from segments.models import LagSample, Segment, Table
from segments.services.lag import KEPT, PartitionLag

WIDTH: Final = 240
HEIGHT: Final = 36
#: From this age of the last consumed message on a partition is shown as behind.
_LATE_MS: Final = 60_000


@dataclass(frozen=True)
class Line:
    """One partition. ``chart`` are the points of a polyline in a box of WIDTH by HEIGHT; ``most`` the largest lag in it (messages)."""

    partition: int
    mark: Mark
    segment: Segment | None
    lag: PartitionLag | None
    is_paused: bool
    chart: str
    most: int

    @property
    def replicas(self) -> list[tuple[str, Mark]]:
        """Server and state, from the mirror."""
        return [(i, mark(str(s))) for i, s in sorted(self.segment.replicas.items())] if self.segment else []


def lines(table: Table, lags: Sequence[PartitionLag], paused: Sequence[int], now: datetime) -> list[Line]:
    """Every partition that has a segment, in order. The newest segment of each, from the mirror; lag as servers told."""
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
    return [_line(table, p, newest.get(p), by_partition.get(p), p in paused, samples.get(p, []), now) for p in sorted(newest)]


def _line(
    table: Table, partition: int, segment: Segment | None, lag: PartitionLag | None, paused: bool, samples: list[LagSample], now: datetime
) -> Line:
    most = max((s.messages or 0 for s in samples), default=0)
    return Line(partition, _mark(table, segment, lag, paused), segment, lag, paused, _chart(samples, most, now), most)


def _mark(table: Table, segment: Segment | None, lag: PartitionLag | None, paused: bool) -> Mark:
    consumes = segment is not None and segment.is_consuming
    if table.is_paused or paused:
        return Mark("stopping", "busy", "spin") if consumes else Mark("paused", "idle", "clock")
    if not consumes:
        return Mark("not consuming", "bad", "cross")
    if lag is None or not any(r.is_consuming for r in lag.replicas):
        return Mark("no server consumes", "bad", "cross")
    if not all(r.is_consuming for r in lag.replicas) or (lag.behind_ms or 0) > _LATE_MS:
        return Mark("behind", "warn", "alert")
    return Mark("consuming", "ok", "check")


def _chart(samples: Sequence[LagSample], most: int, now: datetime) -> str:
    """Left is a day ago, right is now; the largest lag touches the top."""
    if len(samples) < 2:
        return ""
    span = KEPT.total_seconds()
    points = []
    for sample in samples:
        x = WIDTH * (1 - (now - sample.at).total_seconds() / span)
        y = HEIGHT - 2 - (HEIGHT - 4) * ((sample.messages or 0) / most if most else 0)
        points.append(f"{x:.1f},{y:.1f}")
    return " ".join(points)
