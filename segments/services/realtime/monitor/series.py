"""The samples of a table as lines over time: all partitions together or one of them, commits and pauses as marks.
Everything comes from the database; no server and no stream is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Max, Sum

from segments.domain.realtime import backlog
from segments.models import AuditEvent, LagSample, Segment, Table

#: Hours that can be chosen; a point stands for so many samples of them.
HOURS: Final = {24: 6, 6: 2, 1: 1}
#: Partitions that have lines of their own.
MOST_LINES: Final = 8
#: Samples come once a minute: over a longer pause no line is drawn.
_GAP: Final = timedelta(minutes=4)
#: Growth is that of the last while.
_GROWTH: Final = timedelta(minutes=10)
_FRESH: Final = timedelta(minutes=3)
_MOST_MARKS: Final = 40
#: A segment that begins with a resume follows no commit of that moment.
_SAME_MS: Final = 5_000
_CHANGES: Final = {"pauseConsumption": "paused", "resumeConsumption": "resumed"}


@dataclass(frozen=True)
class Point:
    """One moment, in epoch milliseconds; None: not known. After a gap in the samples a point without values follows."""

    at_ms: int
    messages: int | None
    behind_ms: int | None
    rows_per_s: float | None


@dataclass(frozen=True)
class Now:
    """The newest sample of a partition. ``growth``: messages per minute; ``catch_up_s``: seconds to read what waits at
    the highest rate of the day, ``rate``.
    """

    sample: LagSample
    growth: int | None
    rate: float | None
    catch_up_s: float | None

    def to_json(self) -> dict[str, Any]:
        """For REST; times in epoch milliseconds, None: not known."""
        one = self.sample
        return {
            "partition": one.partition,
            "atMs": _ms(one.at),
            "offset": one.offset,
            "messages": one.messages,
            "behindMs": one.behind_ms,
            "rowsPerSecond": one.rows_per_s,
            "growthPerMinute": self.growth,
            "catchUpSeconds": self.catch_up_s,
            "unreadSinceMs": _ms(one.unread_since),
            "expiresAtMs": _ms(one.expires_at),
            "lostMessages": one.lost,
            "retention": one.keeps,
        }


def of_table(table: Table, now: datetime, hours: int) -> list[Point]:
    """All partitions together: messages and rates added up, the longest time behind. Samples of one run have one time,
    so the database adds.
    """
    rows = LagSample.objects.filter(table=table, at__gte=now - timedelta(hours=hours)).order_by("at").values_list("at")
    summed = rows.annotate(Sum("messages"), Max("behind_ms"), Sum("rows_per_s"))
    return _points(summed, HOURS[hours])


def of_partition(table: Table, partition: int, now: datetime, hours: int) -> list[Point]:
    """One partition."""
    rows = LagSample.objects.filter(table=table, partition=partition, at__gte=now - timedelta(hours=hours))
    return _points(rows.order_by("at").values_list("at", "messages", "behind_ms", "rows_per_s"), HOURS[hours])


def newest(table: Table, now: datetime) -> list[Now]:
    """The newest sample of every partition that has one of the last minutes, by partition."""
    recent = LagSample.objects.filter(table=table, at__gt=now - _GROWTH).order_by("at")
    by_partition: dict[int, list[LagSample]] = {}
    for sample in recent:
        by_partition.setdefault(sample.partition, []).append(sample)
    rates = dict(
        LagSample.objects.filter(table=table, at__gt=now - timedelta(hours=24), rows_per_s__gt=0)
        .order_by()
        .values_list("partition")
        .annotate(Max("rows_per_s"))
    )
    return [
        _now(samples, rates.get(partition))
        for partition, samples in sorted(by_partition.items())
        if now - samples[-1].at < _FRESH
    ]


def marks(table: Table, now: datetime, hours: int, partition: int | None = None) -> list[tuple[int, str]]:
    """(epoch milliseconds, word) of the last commits, pauses and resumes, in order. A commit is where the next segment
    of a partition began.
    """
    since = now - timedelta(hours=hours)
    changes = AuditEvent.objects.filter(
        cluster=table.cluster.name, target=table.name, action__in=_CHANGES, at__gte=since, outcome="done"
    ).order_by("-at")
    found = [(_ms(e.at) or 0, _CHANGES[e.action]) for e in changes[:_MOST_MARKS]]
    begun = Segment.objects.filter(table=table, sequence__gt=0, creation_ms__gte=_ms(since))
    begun = begun if partition is None else begun.filter(partition=partition)
    times = begun.order_by("-creation_ms").values_list("creation_ms", flat=True)[:_MOST_MARKS]
    known = [at for at, _ in found]
    commits = {at for at in times if at is not None and all(abs(at - other) > _SAME_MS for other in known)}
    return sorted([*found, *((at, "commit") for at in commits)])[-_MOST_MARKS:]


def document(table: Table, now: datetime, hours: int, partition: int | None) -> dict[str, Any]:
    """The document of ``GET /api/v1/tables/{table}/stream``."""
    points = of_table(table, now, hours) if partition is None else of_partition(table, partition, now, hours)
    return {
        "table": table.name,
        "hours": hours,
        "partition": partition,
        "partitions": [one.to_json() for one in newest(table, now)],
        "history": [
            {"atMs": p.at_ms, "messages": p.messages, "behindMs": p.behind_ms, "rowsPerSecond": p.rows_per_s}
            for p in points
        ],
        "marks": [{"atMs": at, "what": word} for at, word in marks(table, now, hours, partition)],
    }


def _now(samples: Sequence[LagSample], rate: float | None) -> Now:
    last = samples[-1]
    counts = [(s.at.timestamp(), s.messages) for s in samples]
    return Now(last, backlog.growth_per_minute(counts), rate, backlog.catch_up_s(last.messages, rate))


def _points(rows: Iterable[tuple[datetime, int | None, int | None, float | None]], together: int) -> list[Point]:
    """One point for so many samples: the most messages and time of them, the mean of their rates. The newest sample is
    one of its own: it is what holds now.
    """
    points: list[Point] = []
    group: list[tuple[datetime, int | None, int | None, float | None]] = []
    for row in rows:
        if group and (len(group) >= together or row[0] - group[-1][0] > _GAP):
            points.append(_point(group))
            if row[0] - group[-1][0] > _GAP:
                points.append(Point((_ms(group[-1][0]) or 0) + 1, None, None, None))
            group = []
        group.append(row)
    return [*points, *([_point(group[:-1])] if group[:-1] else []), *([_point(group[-1:])] if group else [])]


def _point(group: Sequence[tuple[datetime, int | None, int | None, float | None]]) -> Point:
    rates = [rate for *_, rate in group if rate is not None]
    return Point(
        _ms(group[-1][0]) or 0,
        max((messages for _, messages, _, _ in group if messages is not None), default=None),
        max((behind for _, _, behind, _ in group if behind is not None), default=None),
        round(sum(rates) / len(rates), 1) if rates else None,
    )


def _ms(at: datetime | None) -> int | None:
    return None if at is None else int(at.timestamp() * 1000)
