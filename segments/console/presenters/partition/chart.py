"""Lines over time for an inline SVG: axes with round labels, gaps where nothing was known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

#: The box in units of the SVG: all of it, and what the lines leave free for labels.
WIDTH: Final = 480
HEIGHT: Final = 140
LEFT: Final = 58
BOTTOM: Final = 22
TOP: Final = 8
RIGHT: Final = 8
#: Samples come once a minute: a longer pause is a gap, and is not drawn over.
_GAP: Final = timedelta(minutes=4)
#: Units between two points; of those that fall together the largest counts.
_STEP: Final = 1.2
#: Labels of the time axis stand at multiples of so many minutes.
_EVERY_MIN: Final = (1, 2, 5, 10, 15, 30, 60, 120, 240, 360)
_MOST_TICKS: Final = 7

Sample = tuple[datetime, float | None]


@dataclass(frozen=True)
class Tick:
    """A label and where it stands on its axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Chart:
    """``lines`` are points of polylines. ``last`` and ``most`` are texts of values; empty when nothing is known."""

    name: str
    title: str
    lines: tuple[str, ...]
    dots: tuple[tuple[float, float], ...]
    rows: tuple[Tick, ...]
    columns: tuple[Tick, ...]
    last: str
    most: str

    @property
    def is_empty(self) -> bool:
        """Is there nothing to draw?"""
        return not self.lines and not self.dots


def chart(
    name: str, title: str, samples: Sequence[Sample], since: datetime, now: datetime, text_of: Callable[[float], str],
    *, from_zero: bool = True,
) -> Chart:  # fmt: skip
    """The samples from ``since`` to ``now``, oldest first; ``text_of`` writes a value. ``from_zero``: the axis begins
    at 0, else at the least value.
    """
    known = [(at, value) for at, value in samples if value is not None and at >= since]
    if not known:
        return Chart(name, title, (), (), (), (), "", "")
    values = [value for _, value in known]
    least, most = (0.0 if from_zero else min(values)), max(values)
    span_s, height = max((now - since).total_seconds(), 1.0), HEIGHT - TOP - BOTTOM

    def x_of(at: datetime) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * min(1.0, max(0.0, (at - since).total_seconds() / span_s))

    def y_of(value: float) -> float:
        return TOP + height * (1 - ((value - least) / (most - least) if most > least else 0.0))

    runs = [[(x_of(at), y_of(value)) for at, value in run] for run in _runs(known)]
    return Chart(
        name,
        title,
        tuple(" ".join(f"{x:.0f},{y:.1f}" for x, y in _thinned(run)) for run in runs if len(run) > 1),
        tuple(run[0] for run in runs if len(run) == 1),
        tuple(Tick(y_of(value), text_of(value)) for value in sorted({least, (least + most) / 2, most})),
        tuple(Tick(x_of(at), f"{at:%H:%M}") for at in _round_times(since, now)),
        text_of(values[-1]),
        text_of(most),
    )


def _runs(known: Sequence[tuple[datetime, float]]) -> Iterator[list[tuple[datetime, float]]]:
    run = [known[0]]
    for before, here in pairwise(known):
        if here[0] - before[0] > _GAP:
            yield run
            run = []
        run.append(here)
    yield run


def _thinned(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Of points that fall together the highest, and always the last."""
    best = points[0]
    for point in points[1:]:
        if point[0] - best[0] < _STEP:
            best = (best[0], min(best[1], point[1]))
        else:
            yield best
            best = point
    yield best
    if best != points[-1]:
        yield points[-1]


def _round_times(since: datetime, now: datetime) -> Iterator[datetime]:
    minutes = (now - since).total_seconds() / 60
    every = next((n for n in _EVERY_MIN if minutes / n <= _MOST_TICKS), _EVERY_MIN[-1])
    first = since.replace(minute=0, second=0, microsecond=0, hour=0)
    at = first + timedelta(minutes=every * (int((since - first).total_seconds() / 60 / every) + 1))
    while at <= now:
        yield at
        at += timedelta(minutes=every)
