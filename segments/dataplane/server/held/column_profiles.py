"""What the columns of the segments on this server hold, added up (POST /tables/{table}/segments/profile)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from segments.dataplane.server.held.held_segment import HeldSegment
from segments.domain.segments.column_profile import ColumnProfile, merge, profile_of
from segments.errors import InvalidInput


def requested_segments(body: Mapping[str, Any]) -> list[str]:
    """The names in ``{"segments": [...]}``. Raises InvalidInput."""
    names = body.get("segments")
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise InvalidInput("'segments' must be a list of segment names.")
    return list(dict.fromkeys(names))


def profile_segments(held: Mapping[str, HeldSegment], names: Sequence[str]) -> dict[str, Any]:
    """``{"profiled": n, "missing": [...], "columns": [...]}``: what is not held here is missing, not an error."""
    found = [held[n] for n in names if n in held]
    columns = merge(p for segment in found for p in _profiles(segment))
    return {
        "profiled": len(found),
        "missing": [n for n in names if n not in held],
        "columns": [c.to_json() for c in columns.values()],
    }


def _profiles(segment: HeldSegment) -> Iterator[ColumnProfile]:
    for column in segment.info.columns.values():
        yield profile_of(
            column.name, column.data_type, column.stored_type, low=column.min_value, high=column.max_value,
            cardinality=column.cardinality, has_rows=segment.num_docs > 0,
        )  # fmt: skip
