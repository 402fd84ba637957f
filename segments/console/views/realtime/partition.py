"""One partition of a realtime table: offsets, lag and freshness over time, the lives of its last segments, failures."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from segments import wiring
from segments.console.access import page
from segments.console.presenters.badges import Mark
from segments.console.presenters.consumption import Line, lines
from segments.console.presenters.partition import bars, chart
from segments.console.presenters.partition.failures import failures
from segments.console.presenters.partition.page import (
    FAILURES,
    HOURS,
    SEGMENTS,
    charts,
    committers,
    findings,
    last_segments,
    usual_hours,
)
from segments.console.views.realtime.realtime_table import realtime
from segments.console.views.tables.tables import head
from segments.errors import PinotAdminError
from segments.models import Table
from segments.names import TableName
from segments.services.realtime.consumers import read_consumers
from segments.services.realtime.lag import read_lag
from segments.services.realtime.segment_lives import Lives, read_lives

#: Seconds between two reads; a real Pinot is asked less often.
_EVERY_S: Final = 5
_EVERY_PINOT_S: Final = 15


@page
@require_safe
def partition(request: HttpRequest, typed: str, partition: int) -> HttpResponse:
    """Refreshes itself; says so of a partition that has no segment."""
    table, name = realtime(request, typed)
    segments = last_segments(table, partition)
    live, problems = _live(table, name, partition)
    line: Line | None = live["line"]
    now = timezone.now()
    hours = _hours(request) or usual_hours(table, partition, now)
    context = {
        "table": table,
        "partition": partition,
        **live,
        "problems": problems,
        "charts": (drawn := charts(table, partition, now, hours)),
        "has_samples": any(not one.is_empty for one in drawn),
        "box": {name: getattr(chart, name) for name in ("WIDTH", "HEIGHT", "LEFT", "RIGHT", "TOP", "BOTTOM")},
        "hours": hours,
        "choices": sorted(HOURS),
        "bars": bars.segment_bars(segments, live["lives"].found, int(now.timestamp() * 1000), _unread(line)),
        "most_segments": SEGMENTS,
        "widths": (bars.CONSUMED_WIDTH, bars.AFTER_WIDTH),
        "committers": committers(live["lives"].found),
        "failures": failures(live["lives"].found)[:FAILURES],
        "findings": findings(table, partition, segments),
    }
    if request.headers.get("HX-Request"):
        return render(request, "console/partials/partition.html", context)
    return render(request, "console/table_partition.html", {**head(request, table, "consumption"), **context})


def _unread(line: Line | None) -> Mark | None:
    """The badge of a partition that no server says it consumes."""
    return line.mark if line is not None and not line.is_consumed else None


def _hours(request: HttpRequest) -> int | None:
    text = request.GET.get("hours", "")
    return int(text) if text in {str(hours) for hours in HOURS} else None


def _live(table: Table, name: TableName, partition: int) -> tuple[dict[str, Any], list[str]]:
    """What servers say now, as far as they answer, and why not the rest."""
    ctx, problems = wiring.context(table.cluster.name), list[str]()
    lags, consumers, lives = [], [], Lives()
    try:
        lags = [lag for lag in read_lag(ctx, name) if lag.partition == partition]
        consumers = [one for one in read_consumers(ctx, name) if one.partition == partition]
        lives = read_lives(ctx, name, partition)
    except PinotAdminError as error:
        problems.append(str(error))
    if lives.silent:
        problems.append(f"No answer from {', '.join(lives.silent)}: what they did is not shown.")
    all_lines = lines(table, lags, _paused(table), timezone.now(), consumers)
    line = next((one for one in all_lines if one.partition == partition), None)
    is_own = ctx.engine.offers.own_processes
    every_s = _EVERY_S if is_own else _EVERY_PINOT_S
    return {"line": line, "lives": lives, "has_lives": is_own, "every_s": every_s}, problems


def _paused(table: Table) -> list[int]:
    return [int(p) for p in table.pause.get("pausedPartitions", ())]
