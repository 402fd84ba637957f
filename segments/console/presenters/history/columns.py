"""What differs between the columns of two snapshots: the schema in words, dates as dates, numbers of values as bars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from segments.console.presenters.history.values import Bar, width_of
from segments.domain.segments.column_profile import ColumnProfile
from segments.domain.tables.schema import FieldSpec
from segments.services.replacement.snapshot_diff import ColumnDiff, SnapshotDiff
from segments.services.replacement.values_diff import shown_value

_TITLES: Final = ("first", "second")


@dataclass(frozen=True)
class ColumnSide:
    """A column on one side. ``bar``: its number of values, of two different ones ``low`` to ``bar.rows``; None: nobody
    reports the column there.
    """

    title: str
    smallest: str
    largest: str
    low: int
    bar: Bar | None

    @property
    def is_exact(self) -> bool:
        """Is the number of values known exactly?"""
        return self.bar is not None and self.low == self.bar.rows


@dataclass(frozen=True)
class ColumnLine:
    """A column on both sides. ``schema``: what became of it from one schema to the other; empty: nothing.
    ``is_compared``: do both sides report columns at all?
    """

    name: str
    data_type: str
    schema: str
    sides: tuple[ColumnSide, ColumnSide]
    is_changed: bool
    is_compared: bool
    has_values: bool


def column_lines(diff: SnapshotDiff, schema: Mapping[str, FieldSpec]) -> list[ColumnLine]:
    """By name; those whose schema changed first, then others that differ. ``schema``: the table's columns of today."""
    is_compared = all(any(c.both[i] for c in diff.columns) for i in (0, 1))
    lines = [_line(c, schema.get(c.name), is_compared=is_compared) for c in diff.columns]
    return sorted(lines, key=lambda line: (not line.schema, not (line.is_compared and line.is_changed)))


def _line(column: ColumnDiff, spec: FieldSpec | None, *, is_compared: bool) -> ColumnLine:
    most = max((p.cardinality_high for p in column.both if p), default=0)
    first, second = (_side(t, p, spec, most) for t, p in zip(_TITLES, column.both, strict=True))
    newest = column.after or column.before
    return ColumnLine(
        name=column.name,
        data_type=newest.data_type if newest else "",
        schema=_schema_change(*column.both) if is_compared else "",
        sides=(first, second),
        is_changed=column.is_changed,
        is_compared=is_compared,
        has_values=spec is not None,
    )


def _schema_change(before: ColumnProfile | None, after: ColumnProfile | None) -> str:
    if before is None or after is None:
        return "only in the second" if before is None else "only in the first"
    return "" if before.data_type == after.data_type else f"{before.data_type} → {after.data_type}"


def _side(title: str, profile: ColumnProfile | None, spec: FieldSpec | None, most: int) -> ColumnSide:
    if profile is None:
        return ColumnSide(title, "-", "-", 0, None)
    low, high = (shown_value(v, spec) if v is not None else "-" for v in (profile.min_value, profile.max_value))
    bar = Bar("", profile.cardinality_high, width_of(profile.cardinality_high, most))
    return ColumnSide(title, low, high, profile.cardinality_low, bar)
