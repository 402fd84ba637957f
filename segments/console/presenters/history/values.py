"""What differs between the rows of two snapshots, as small bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from segments.services.replacement.values_diff import ColumnSide, ColumnValues, DayRows, Days, NullRows, Nulls


@dataclass(frozen=True)
class Bar:
    """A row with a bar: ``width`` of 100."""

    label: str
    rows: int | None
    width: float


@dataclass(frozen=True)
class _Both:
    """Before and after."""

    both: tuple[Bar, Bar]

    @property
    def is_compared(self) -> bool:
        """Could both sides be read?"""
        return all(bar.rows is not None for bar in self.both)


@dataclass(frozen=True)
class DayBar(_Both):
    """A day on both sides."""

    day: str

    @property
    def is_changed(self) -> bool:
        """Has it another number of rows?"""
        return self.both[0].rows != self.both[1].rows


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
    return [DayBar((_bar(d, d.before, most), _bar(d, d.after, most)), d.day) for d in reversed(found.days)]


@dataclass(frozen=True)
class NullBar(_Both):
    """A column's nulls on both sides, as shares of the side's rows."""

    column: str

    @property
    def is_changed(self) -> bool:
        """Is it another share?"""
        return self.both[0].width != self.both[1].width


def null_bars(found: Nulls) -> list[NullBar]:
    """By how much the share changed, most first."""
    bars = [NullBar(_null_sides(c, found.rows), c.column) for c in found.columns]
    return sorted(bars, key=lambda b: (-abs(b.both[0].width - b.both[1].width), b.column))


def _null_sides(column: NullRows, rows: tuple[int | None, int | None]) -> tuple[Bar, Bar]:
    first, second = (
        Bar(column.column, nulls, width_of(nulls or 0, of or 0))
        for nulls, of in zip((column.before, column.after), rows, strict=True)
    )
    return first, second


def value_bars(found: ColumnValues) -> list[SideBars]:
    """Both sides; bars are shares of the side's rows."""
    return [
        _side("First", found.before, found.why_before), _side("Second", found.after, found.why_after)
    ]  # fmt: skip


def _bar(day: DayRows, rows: int | None, most: int) -> Bar:
    return Bar(day.day, rows, width_of(rows or 0, most))


def _side(title: str, side: ColumnSide | None, why: str) -> SideBars:
    rows = side.rows if side else 0
    nulls = Bar("null", side.nulls if side else None, width_of(side.nulls, rows) if side else 0.0)
    top = [Bar(one.value, one.rows, width_of(one.rows, rows)) for one in side.top] if side else []
    return SideBars(title, side, nulls, top, why)


def width_of(part: int, whole: int) -> float:
    """The width of a bar that is this part of the whole."""
    return round(100 * part / whole, 2) if whole else 0.0
