"""What a rebalance moves at once: a segment, or where rows decide about one another the whole partition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from segments.domain.realtime.llc_name import is_llc_name, partition_stem
from segments.domain.rebalance.target import Placement


def unit_of(placement: Placement, segment: str) -> str:
    """The name of what the segment moves with: its own, or ``table__partition``."""
    return partition_stem(segment) if placement.whole_partitions and is_llc_name(segment) else segment


def units_of(placement: Placement, segments: Iterable[str]) -> dict[str, list[str]]:
    """{unit: its segments, sorted}."""
    found: dict[str, list[str]] = defaultdict(list)
    for segment in sorted(segments):
        found[unit_of(placement, segment)].append(segment)
    return dict(found)
