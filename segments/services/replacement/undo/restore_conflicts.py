"""What stands in the way of segments that would come back next to what queries see, with the counts that show what it
would do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from segments.domain.formats.plural import counted as counted_of
from segments.domain.replacement.undo.return_rule import Obstacle
from segments.domain.segments.archive import Outcome, refused
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import Observed
from segments.services.segments.segments import read_records


def counted(
    ctx: Context, seen: Observed, outcomes: Mapping[str, Outcome], obstacles: Mapping[str, Obstacle]
) -> dict[str, Outcome]:
    """The refusals of segments that would be seen together with others, each with how many rows queries see now."""
    conflicting = [
        s for s, o in outcomes.items() if o.outcome == "refused" and s in obstacles and obstacles[s].kind != "hidden"
    ]
    if not conflicting:
        return {}
    counts = _shown(_visible(ctx, seen))
    return {s: replace(outcomes[s], message=f"{outcomes[s].message} {counts}") for s in conflicting}


def pushed_since(ctx: Context, seen: Observed, deleted: Mapping[str, int]) -> dict[str, Outcome]:
    """Refusals for segments of a REFRESH table, {name: when it was deleted}, that visible ones were pushed after."""
    if not deleted or not seen.config.is_refresh:
        return {}
    records = _visible(ctx, seen)
    newest = max(records.values(), key=lambda m: m.push_ms or 0, default=None)
    late = [s for s, at in deleted.items() if newest is not None and (newest.push_ms or 0) > at]
    counts = _shown(records)
    way = (
        "If it is other data, give force=true; else restore it with switch=true: what queries see now is hidden in "
        "the same step."
    )
    name = newest.name if newest is not None else ""
    why = (
        f"cannot be restored: segment '{name}' was pushed after it was deleted, and a push of this table replaces "
        f"what was there. {counts}"
    )
    return {s: refused(s, f"Segment '{s}' {why}", way) for s in late}


def _visible(ctx: Context, seen: Observed) -> dict[str, SegmentMetadata]:
    return read_records(ctx, seen.table, seen.lineage.visible(seen.ideal.maps))


def _shown(records: Mapping[str, SegmentMetadata]) -> str:
    rows = counted_of(sum(m.total_docs or 0 for m in records.values()), "row")
    return f"Queries see {rows} in {counted_of(len(records), 'segment')} now."
