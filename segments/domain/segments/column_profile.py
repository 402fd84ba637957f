"""What the columns of many segments hold, added up from what each segment says of itself: range and number of values.

Cardinalities of segments cannot be added up to one number: the truth lies between the largest of them and their sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, Final

_NUMBERS: Final = frozenset({"INT", "LONG", "FLOAT", "DOUBLE", "BIG_DECIMAL"})


@dataclass(frozen=True)
class ColumnProfile:
    """One column over ``segments`` segments. ``min_value``/``max_value`` are text of the stored value, None when no
    segment reports it.

    ``without_range`` and ``without_cardinality`` count segments that do not report it: then the values are those of the
    others only.
    """

    name: str
    data_type: str
    stored_type: str
    segments: int = 1
    min_value: str | None = None
    max_value: str | None = None
    cardinality_low: int = 0
    cardinality_high: int = 0
    without_range: int = 0
    without_cardinality: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "name": self.name, "dataType": self.data_type, "storedType": self.stored_type, "segments": self.segments,
            "min": self.min_value, "max": self.max_value, "cardinalityAtLeast": self.cardinality_low,
            "cardinalityAtMost": self.cardinality_high, "segmentsWithoutRange": self.without_range,
            "segmentsWithoutCardinality": self.without_cardinality,
        }  # fmt: skip


def from_json(body: Mapping[str, Any]) -> ColumnProfile:
    """Back from ``ColumnProfile.to_json``. KeyError, TypeError or ValueError when it is none."""
    return ColumnProfile(
        str(body["name"]),
        str(body["dataType"]),
        str(body["storedType"]),
        int(body["segments"]),
        body["min"],
        body["max"],
        int(body["cardinalityAtLeast"]),
        int(body["cardinalityAtMost"]),
        int(body["segmentsWithoutRange"]),
        int(body["segmentsWithoutCardinality"]),
    )


def profile_of(
    name: str, data_type: str, stored_type: str, *, low: str | None, high: str | None, cardinality: int, has_rows: bool
) -> ColumnProfile:
    """The profile of one segment's column. An empty segment has no range and no values, and hides nothing."""
    known = cardinality if cardinality > 0 else 0
    has_range = low is not None and high is not None
    return ColumnProfile(
        name, data_type, stored_type, 1, low if has_range else None, high if has_range else None, known, known,
        int(has_rows and not has_range), int(has_rows and not known),
    )  # fmt: skip


def merge(profiles: Iterable[ColumnProfile]) -> dict[str, ColumnProfile]:
    """{column: profile over all}, sorted by name. The type is that of the first; where types differ values compare as
    text.
    """
    merged: dict[str, ColumnProfile] = {}
    for one in profiles:
        merged[one.name] = _added(merged[one.name], one) if one.name in merged else one
    return dict(sorted(merged.items()))


def _added(a: ColumnProfile, b: ColumnProfile) -> ColumnProfile:
    key = _order(a.stored_type if a.stored_type == b.stored_type else "STRING")
    lows = [v for v in (a.min_value, b.min_value) if v is not None]
    highs = [v for v in (a.max_value, b.max_value) if v is not None]
    return replace(
        a,
        segments=a.segments + b.segments,
        min_value=min(lows, key=key, default=None),
        max_value=max(highs, key=key, default=None),
        cardinality_low=max(a.cardinality_low, b.cardinality_low),
        cardinality_high=a.cardinality_high + b.cardinality_high,
        without_range=a.without_range + b.without_range,
        without_cardinality=a.without_cardinality + b.without_cardinality,
    )


def _order(stored_type: str) -> Callable[[str], Any]:
    return _number if stored_type in _NUMBERS else str


def _number(text: str) -> tuple[int, Decimal]:
    """Sorts numbers, the infinities at both ends, and what is not a number after all of them."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return (1, Decimal(0))
    return (1, Decimal(0)) if value.is_nan() else (0, value)
