"""Which segments lie inside a replaced part of a table, and which have rows on both sides of its edge; decided from
their records alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from segments.domain.ingestion.replaced_part import Partitions, Selector
from segments.domain.segments.segment_metadata import SegmentMetadata


@dataclass(frozen=True)
class Extent:
    """First and last time of a segment's rows (epoch milliseconds), and the partitions of the selected column that it
    has rows of; None: not known.
    """

    start_ms: int | None = None
    end_ms: int | None = None
    partitions: frozenset[int] | None = None


class _Side(Enum):
    INSIDE = "inside"
    OUTSIDE = "outside"
    BOTH = "both"


def extent_of(known: SegmentMetadata, selector: Selector | None) -> Extent:
    """What a segment's record says of its rows."""
    partitions = selector.partitions if selector is not None else None
    ids = None if partitions is None else _ids(known.fields.get("segment.partition.metadata", ""), partitions)
    return Extent(known.start_ms, known.end_ms, ids)


def chosen_segments(selector: Selector, segments: Mapping[str, Extent]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Segments with all rows inside the part, and those that may have rows on both sides of an edge; each sorted. What
    is not known of a segment puts it among the latter.
    """
    sides = {name: _side(selector, extent) for name, extent in sorted(segments.items())}
    inside = tuple(name for name, side in sides.items() if side is _Side.INSIDE)
    return inside, tuple(name for name, side in sides.items() if side is _Side.BOTH)


def is_inside(selector: Selector, extent: Extent) -> bool:
    """Are all rows inside the part? What is not known counts as inside."""
    times, partitions = selector.times, selector.partitions
    in_time = (
        times is None or extent.start_ms is None or extent.end_ms is None or _by_time(times, extent) is _Side.INSIDE
    )
    return in_time and (partitions is None or extent.partitions is None or extent.partitions <= partitions.ids)


def _side(selector: Selector, extent: Extent) -> _Side:
    sides = set()
    if selector.times is not None:
        sides.add(_by_time(selector.times, extent))
    if selector.partitions is not None:
        sides.add(_by_partition(selector.partitions, extent))
    if _Side.OUTSIDE in sides:
        return _Side.OUTSIDE
    return _Side.INSIDE if sides == {_Side.INSIDE} else _Side.BOTH


def _by_time(times: tuple[int, int], extent: Extent) -> _Side:
    start, end = extent.start_ms, extent.end_ms
    if start is None or end is None:
        return _Side.BOTH
    if times[0] <= start and end < times[1]:
        return _Side.INSIDE
    return _Side.BOTH if start < times[1] and end >= times[0] else _Side.OUTSIDE


def _by_partition(wanted: Partitions, extent: Extent) -> _Side:
    if extent.partitions is None:
        return _Side.BOTH
    if extent.partitions <= wanted.ids:
        return _Side.INSIDE
    return _Side.BOTH if extent.partitions & wanted.ids else _Side.OUTSIDE


def _ids(text: str, wanted: Partitions) -> frozenset[int] | None:
    """Partitions by a record's ``segment.partition.metadata``; None where it does not say, or counts otherwise."""
    try:
        found: Any = json.loads(text)["columnPartitionMap"][wanted.column]
        if str(found["functionName"]).lower() != wanted.function.lower() or found["numPartitions"] != wanted.count:
            return None
        return frozenset(int(n) for n in found["partitions"])
    except (ValueError, KeyError, TypeError):
        return None
