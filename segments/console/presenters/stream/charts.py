"""Lag, rows per second and freshness over time, as ``charts.js`` draws them, and the same in a table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from django.utils import timezone

from segments.models import Table
from segments.services.realtime.monitor import series
from segments.services.realtime.monitor.series import MOST_LINES, Point

#: Rows of the table next to the charts.
_ROWS: Final = 24


@dataclass(frozen=True)
class Chart:
    """``data`` is JSON text; ``words``: the last and the largest value, for who does not see the lines."""

    name: str
    title: str
    data: str
    words: str


@dataclass(frozen=True)
class Drawn:
    """The charts, their table (one row per stretch of time) and how many marks of each kind they have."""

    charts: Sequence[Chart]
    rows: Sequence[Point]
    marks: Sequence[tuple[datetime, str]]


def drawn(table: Table, now: datetime, hours: int, partition: int | None, partitions: Sequence[int]) -> Drawn:
    """Lines of the table, and of its partitions where these are few; with ``partition`` of this one only."""
    if partition is not None:
        lines = {f"partition {partition}": series.of_partition(table, partition, now, hours)}
    elif 1 < len(partitions) <= MOST_LINES:
        lines = {f"partition {p}": series.of_partition(table, p, now, hours) for p in partitions}
    else:
        lines = {"all partitions": series.of_table(table, now, hours)}
    together = next(iter(lines.values())) if len(lines) == 1 else series.of_table(table, now, hours)
    marks = series.marks(table, now, hours, partition)
    charts = [
        _chart("messages", "Messages behind", "messages", "messages", lines, together, marks),
        _chart("rate", "Rows per second", "rows/s", "rows_per_s", lines, together, marks),
        _chart("freshness", "Seconds behind", "seconds", "behind_ms", lines, together, marks),
    ]
    moments = [(datetime.fromtimestamp(at / 1000, UTC), word) for at, word in reversed(marks)]
    return Drawn(charts, _thinned(together), moments)


def _chart(
    name: str,
    title: str,
    unit: str,
    field: str,
    lines: Mapping[str, Sequence[Point]],
    together: Sequence[Point],
    marks: Sequence[tuple[int, str]],
) -> Chart:
    times = sorted({p.at_ms for points in lines.values() for p in points})
    data: dict[str, Any] = {
        "kind": "line",
        "unit": unit,
        "zero": True,
        "x": {"kind": "time", "values": times, "zone": timezone.get_current_timezone_name()},
        "series": [{"name": line, "values": _values(points, field, times)} for line, points in lines.items()],
        "marks": [{"x": at, "text": word} for at, word in marks],
    }
    known = [value for p in together if (value := _value(p, field)) is not None]
    digits = 1 if field == "behind_ms" else 0
    newest = _value(together[-1], field) if together else None
    now = "not known" if newest is None else f"{newest:,.{digits}f}"
    words = f"{now} now, at most {max(known):,.{digits}f}" if known else ""
    return Chart(name, title, json.dumps(data, separators=(",", ":")), words)


def _values(points: Sequence[Point], field: str, times: Sequence[int]) -> list[float | None]:
    by_time = {p.at_ms: _value(p, field) for p in points}
    return [by_time.get(at) for at in times]


def _value(point: Point, field: str) -> float | None:
    value: float | None = getattr(point, field)
    return round(value / 1000, 1) if value is not None and field == "behind_ms" else value


def _thinned(points: Sequence[Point]) -> list[Point]:
    """Newest first, no more than the table takes; of points that fall together the one that is furthest behind."""
    known = [p for p in points if (p.messages, p.behind_ms, p.rows_per_s) != (None, None, None)]
    size = -(-len(known) // _ROWS) or 1
    groups = [known[at : at + size] for at in range(0, len(known), size)]
    return [max(group, key=lambda p: (p.messages or 0, p.behind_ms or 0)) for group in reversed(groups)]
