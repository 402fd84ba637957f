"""Bars of sessions for an inline SVG: one for each, oldest left, all of one scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from segments.console.presenters.partition.chart import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Tick
from segments.models import IngestionSession

#: Sessions that are drawn.
MOST: Final = 30
_WIDEST: Final = 36.0
_GAP_SHARE: Final = 0.25
_LEAST: Final = 1.5
#: Labels of the oldest and the newest bar that are nearer to one another would overlap: then only the first stands.
_APART: Final = 180.0


@dataclass(frozen=True)
class SessionBar:
    """One session's bar; ``kind`` is its class, ``text`` what it says on hover, ``session_id`` where it leads."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    text: str
    session_id: str


@dataclass(frozen=True)
class BarChart:
    """``rows`` are the labels of the value axis, ``columns`` those of the times; ``most`` the largest value as text."""

    title: str
    bars: tuple[SessionBar, ...]
    rows: tuple[Tick, ...]
    columns: tuple[Tick, ...]
    last: str
    most: str


def bar_charts(sessions: Sequence[IngestionSession]) -> list[BarChart]:
    """Seconds and rows of the newest sessions, which come newest first; nothing where there are none."""
    shown = list(reversed(sessions[:MOST]))
    if not shown:
        return []
    return [
        _chart("Seconds per session", shown, lambda s: s.seconds, _seconds),
        _chart("Rows per session", shown, lambda s: float(s.rows), _rows),
    ]


def _chart(
    title: str,
    sessions: Sequence[IngestionSession],
    value_of: Callable[[IngestionSession], float],
    text_of: Callable[[float], str],
) -> BarChart:
    values = [value_of(session) for session in sessions]
    most = max(values)
    step = min(_WIDEST, (WIDTH - LEFT - RIGHT) / len(sessions))
    height = HEIGHT - TOP - BOTTOM
    bars = []
    for i, (session, value) in enumerate(zip(sessions, values, strict=True)):
        tall = max(_LEAST, height * value / most) if most else _LEAST
        kind = "bar-consumed" if session.state == IngestionSession.State.DONE else "bar-failed"
        text = f"{session.started_at:%Y-%m-%d %H:%M}: {text_of(value)}, {session.get_state_display()}"
        bars.append(
            SessionBar(
                LEFT + i * step, TOP + height - tall, step * (1 - _GAP_SHARE), tall, kind, text, session.session_id
            )
        )
    ticks = tuple(Tick(TOP + height * (1 - share), text_of(most * share)) for share in ((0, 0.5, 1) if most else (0,)))
    last = len(sessions) - 1
    ends = {0, last} if last * step >= _APART else {0}
    columns = tuple(Tick(LEFT + i * step, f"{sessions[i].started_at:%m-%d %H:%M}") for i in sorted(ends))
    return BarChart(title, tuple(bars), ticks, columns, text_of(values[-1]), text_of(most))


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value < 10 else f"{value:.0f} s" if value < 600 else f"{value / 60:.0f} min"


def _rows(value: float) -> str:
    for size, sign in ((1e9, "G"), (1e6, "M")):
        if value >= 10 * size:
            return f"{value / size:,.1f} {sign}"
    return f"{value:,.0f}"
