"""The page *Stream* of a realtime table: lag, rows per second and freshness over a day, what waits in each partition
and when it leaves the stream. All of it is read from samples, so it answers while servers and streams are down.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from segments import wiring
from segments.console.access import OPERATE, may, page
from segments.console.presenters.stream.charts import drawn
from segments.console.views.realtime.realtime_table import realtime
from segments.console.views.tables.tables import head
from segments.domain.formats.whole_number import whole_number
from segments.models import LagSample, Segment, Table
from segments.services.realtime.monitor import series
from segments.services.realtime.monitor.series import HOURS, Now
from segments.services.set_aside.listing import totals

#: Seconds between two reads: samples come once a minute.
_EVERY_S: Final = 20


@dataclass(frozen=True)
class Summary:
    """Of all partitions together. ``is_part``: of some the messages are not known. ``lost`` None: some, not counted."""

    messages: int | None
    is_part: bool
    growth: int | None
    rate: float | None
    catch_up_s: float | None
    behind_ms: int | None
    first_to_go: LagSample | None
    lost: int | None


@page
@require_safe
def stream(request: HttpRequest, typed: str) -> HttpResponse:
    """Refreshes itself; ``hours`` and ``partition`` choose what is drawn."""
    table, name = realtime(request, typed)
    now, hours = timezone.now(), _hours(request)
    partitions = partitions_of(table)
    chosen = whole_number(request.GET.get("partition", ""))
    chosen = chosen if chosen in partitions else None
    states = series.newest(table, now)
    offers = wiring.context(table.cluster.name).engine.offers
    context = {
        "hours": hours,
        "choices": list(HOURS),
        "partitions": partitions,
        "chosen": chosen,
        "drawn": drawn(table, now, hours, chosen, partitions),
        "states": states,
        "summary": _summary(states, now),
        "now": now,
        "set_aside": totals(table.cluster.name, name),
        "has_set_aside": offers.set_aside,
        "reads_streams": offers.reads_streams,
        "is_paused": table.is_paused,
        "every_s": _EVERY_S,
        "may_operate": may(request, OPERATE, table.name),
    }
    template = "console/partials/stream.html" if request.headers.get("HX-Request") else "console/table_stream.html"
    return render(request, template, {**head(request, table, "stream"), **context})


def _hours(request: HttpRequest) -> int:
    wanted = whole_number(request.GET.get("hours", ""))
    return wanted if wanted in HOURS else next(iter(HOURS))


def partitions_of(table: Table) -> list[int]:
    """The partitions that have segments."""
    found = Segment.objects.filter(table=table, partition__isnull=False).order_by("partition")
    return [p for p in found.values_list("partition", flat=True).distinct() if p is not None]


def _summary(states: list[Now], now: datetime) -> Summary:
    known = [s.sample.messages for s in states if s.sample.messages is not None]
    growths = [s.growth for s in states if s.growth is not None]
    rates = [s.sample.rows_per_s for s in states if s.sample.rows_per_s is not None]
    lost = [s.sample.lost for s in states]
    going = [s.sample for s in states if s.sample.expires_at is not None]
    return Summary(
        messages=sum(known) if known else None,
        is_part=len(known) < len(states),
        growth=sum(growths) if growths else None,
        rate=sum(rates) if rates else None,
        # Partitions are read side by side: the slowest decides.
        catch_up_s=max((s.catch_up_s for s in states if s.catch_up_s is not None), default=None),
        behind_ms=max((s.sample.behind_ms for s in states if s.sample.behind_ms is not None), default=None),
        first_to_go=min(going, key=lambda s: s.expires_at or now + timedelta(days=1), default=None),
        lost=None if None in lost else sum(count or 0 for count in lost),
    )
