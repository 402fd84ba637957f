"""What the page of a partition shows: charts of its samples, bars of its segments, and who commits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Q

from segments.console.presenters.partition.chart import Chart, Sample, chart
from segments.models import Finding, LagSample, Segment, Table
from segments.services.realtime.segment_lives import Life

#: Hours that can be chosen; the first is shown unless another is asked for, the second of a partition with no older
#: samples.
HOURS: Final = (6, 1, 24)
#: Segments, failures and findings that are shown.
SEGMENTS: Final = 15
FAILURES: Final = 20
_FINDINGS: Final = 20


@dataclass(frozen=True)
class Committer:
    """A server that commits a segment of the partition now."""

    server: str
    segment: str
    since_ms: int


def last_segments(table: Table, partition: int) -> list[Segment]:
    """Newest first."""
    return list(Segment.objects.filter(table=table, partition=partition).order_by("-sequence")[:SEGMENTS])


def usual_hours(table: Table, partition: int, now: datetime) -> int:
    """How many are shown unless somebody asks for others: as few as have all samples."""
    usual, short, _ = HOURS
    is_young = not LagSample.objects.filter(
        table=table, partition=partition, at__lt=now - timedelta(hours=short)
    ).exists()
    return short if is_young else usual


def charts(table: Table, partition: int, now: datetime, hours: int) -> list[Chart]:
    """Messages behind, time behind, and offsets where they are numbers. None of the samples is older than a day."""
    since = now - timedelta(hours=hours)
    rows = list(LagSample.objects.filter(table=table, partition=partition, at__gte=since).order_by("at"))
    offsets: list[Sample] = [(row.at, float(row.offset) if row.offset.isdecimal() else None) for row in rows]
    return [
        chart("messages", "Messages behind", [(row.at, row.messages) for row in rows], since, now, _number),
        chart("freshness", "Time behind", [(row.at, row.behind_ms) for row in rows], since, now, _span),
        chart("offset", "Offset", offsets, since, now, _number, from_zero=False),
    ]


def committers(lives: Iterable[Life]) -> list[Committer]:
    """Those that commit now, since when."""
    return [Committer(life.server, life.segment, life.since_ms) for life in lives if life.state == "COMMITTING"]


def findings(table: Table, partition: int, segments: Sequence[Segment]) -> list[Finding]:
    """Open ones about the partition or one of these segments; their subjects begin with either."""
    of_partition = Q(subject=str(partition)) | Q(subject__startswith=f"{partition}:")
    about = of_partition | Q(subject__in=[segment.name for segment in segments])
    still_open = Finding.objects.filter(cluster=table.cluster.name, table_name=table.name, closed_at=None)
    return list(still_open.filter(about).order_by("severity", "-first_seen")[:_FINDINGS])


def _number(value: float) -> str:
    """1,234; 1.2 M where it is a place on an axis, too: a label has little room."""
    for size, sign in ((1e9, "G"), (1e6, "M")):
        if value >= 10 * size:
            return f"{value / size:,.1f} {sign}"
    return f"{value:,.0f}"


def _span(value: float) -> str:
    """Milliseconds as 120 ms, 4.5 s, 12 min, 3.2 h."""
    if value < 1000:
        return f"{value:.0f} ms"
    seconds = value / 1000
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
