"""What only the rows of all segments say of a table: fewest replicas, times, gaps; computed once a minute."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, Max, Min, Q
from django.utils import timezone

from segments.domain.tables.table_config import parse_table_config
from segments.domain.upkeep import missing_periods
from segments.errors import PinotAdminError
from segments.metrics import tables as metrics
from segments.metrics.exposition import Collector
from segments.metrics.metric_kinds import MOST_TABLES, Family
from segments.models import Segment, Table
from segments.names import OFFLINE

#: Seconds for which figures are kept: they change slowly, and all segments have to be read for them.
_KEEP_S: Final = 60.0
#: Times that Pinot takes for valid: 1971 to 2071.
_FIRST_MS: Final = 31_536_000_000
_LAST_MS: Final = 3_187_296_000_000


@dataclass(frozen=True)
class _Figures:
    """By table: of its segments, those that queries see; ``gaps``: of append tables with a frequency only."""

    segments: dict[int, dict[str, Any]]
    gaps: dict[int, int]


class SegmentTimes(Collector):
    """One per process, so that several who ask share what was computed."""

    def __init__(self, keep_s: float = _KEEP_S) -> None:
        self._keep_s = keep_s
        self._lock = threading.Lock()
        self._found: tuple[float, _Figures] | None = None

    def collect(self) -> Iterator[Family]:
        """What is not known of a table has no line."""
        figures, now_ms = self._figures(), timezone.now().timestamp() * 1000
        replicas, start, end = (
            m.family() for m in (metrics.NUMBER_OF_REPLICAS, metrics.INVALID_START, metrics.INVALID_END)
        )
        gaps, delay, push = (m.family() for m in (metrics.MISSING_SEGMENTS, metrics.OFFLINE_DELAY, metrics.LAST_PUSH))
        tables = Table.objects.order_by("pk").values_list("pk", "cluster__name", "name", "type")
        for pk, cluster, name, kind in tables[:MOST_TABLES]:
            labels, row = [cluster, name], figures.segments.get(pk)
            if pk in figures.gaps:
                gaps.add_metric(labels, figures.gaps[pk])
            if row is None:
                continue
            replicas.add_metric(labels, row["fewest"])
            start.add_metric(labels, row["bad_starts"])
            end.add_metric(labels, row["bad_ends"])
            if kind == OFFLINE and row["newest"] is not None:
                delay.add_metric(labels, (now_ms - row["newest"]) / 1000)
            if kind == OFFLINE and row["pushed"] is not None:
                push.add_metric(labels, (now_ms - row["pushed"]) / 1000)
        yield from (replicas, start, end, gaps, delay, push)

    def _figures(self) -> _Figures:
        with self._lock:
            now_s = timezone.now().timestamp()
            if self._found is None or not 0 <= now_s - self._found[0] < self._keep_s:
                self._found = now_s, _Figures(_by_table(), _gaps())
            return self._found[1]


def _by_table() -> dict[int, dict[str, Any]]:
    """In one query."""
    is_valid = {"gte": _FIRST_MS, "lte": _LAST_MS}
    bad = {
        at: Q(**{f"{at}__isnull": False}) & ~Q(**{f"{at}__{op}": ms for op, ms in is_valid.items()})
        for at in ("start_ms", "end_ms")
    }
    counted = Segment.objects.filter(is_visible=True).order_by().values("table_id")
    found = counted.annotate(
        fewest=Min("replicas_online"),
        bad_starts=Count("pk", filter=bad["start_ms"]),
        bad_ends=Count("pk", filter=bad["end_ms"]),
        newest=Max("end_ms", filter=~bad["end_ms"]),
        pushed=Max("push_ms"),
        refreshed=Max("refresh_ms"),
    )
    return {row["table_id"]: {**row, "pushed": max(row["pushed"] or 0, row["refreshed"] or 0) or None} for row in found}


def _gaps() -> dict[int, int]:
    """Of tables that say how often a segment comes; one query for all of them."""
    tables = Table.objects.filter(type=OFFLINE).order_by("pk").values_list("pk", "config")[:MOST_TABLES]
    periods = {pk: period for pk, config in tables if (period := _period(config)) is not None}
    if not periods:
        return {}
    rows = Segment.objects.filter(table__in=periods, is_visible=True)
    times = dict[int, list[tuple[int, int]]]()
    for pk, first, last in rows.order_by().values_list("table_id", "start_ms", "end_ms").iterator():
        if first is not None and last is not None:
            times.setdefault(pk, []).append((first, last))
    return {
        pk: sum(gap.count for gap in missing_periods.gaps(times.get(pk, ()), period)) for pk, period in periods.items()
    }


def _period(config: dict[str, Any]) -> int | None:
    try:
        return missing_periods.period_of(parse_table_config(config))
    except PinotAdminError:  # a table of a newer Pinot, say
        return None
