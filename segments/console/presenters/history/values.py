"""What differs between the rows of two snapshots, as small bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from segments.services.replacement.values_diff import ColumnSide, ColumnValues, DayRows, Days


@dataclass(frozen=True)
class Bar:
    """A row with a bar: ``width`` of 100."""

    label: str
    rows: int | None
    width: float


@dataclass(frozen=True)
class DayBar:
    """A day on both sides."""

    day: str
    before: Bar
    after: Bar

    @property
    def both(self) -> tuple[Bar, Bar]:
        """Before and after."""
        return self.before, self.after

    @property
    def is_changed(self) -> bool:
        """Has it another number of rows?"""
        return self.before.rows != self.after.rows


@dataclass(frozen=True)
class SideBars:
    """A column on one side. ``why``: it could not be read."""

    title: str
    side: ColumnSide | None
    nulls: Bar
    top: Sequence[Bar]
    why: str


def day_bars(found: Days) -> list[DayBar]:
    """Newest first; the longest bar is the day with the most rows of both sides."""
    most = max((n for d in found.days for n in (d.before, d.after) if n is not None), default=0)
    return [DayBar(d.day, _bar(d, d.before, most), _bar(d, d.after, most)) for d in reversed(found.days)]


def value_bars(found: ColumnValues) -> list[SideBars]:
    """Both sides; bars are shares of the side's rows."""
    return [
        _side("First", found.before, found.why_before), _side("Second", found.after, found.why_after)
    ]  # fmt: skip


def _bar(day: DayRows, rows: int | None, most: int) -> Bar:
    return Bar(day.day, rows, _width(rows or 0, most))


def _side(title: str, side: ColumnSide | None, why: str) -> SideBars:
    rows = side.rows if side else 0
    nulls = Bar("null", side.nulls if side else None, _width(side.nulls, rows) if side else 0.0)
    top = [Bar(one.value, one.rows, _width(one.rows, rows)) for one in side.top] if side else []
    return SideBars(title, side, nulls, top, why)


def _width(part: int, whole: int) -> float:
    return round(100 * part / whole, 2) if whole else 0.0
