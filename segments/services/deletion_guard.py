"""Which segments nobody may delete by hand, because a replacement or a pin needs them (lineage.md 2), and how that is said."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from segments.domain.archive import Outcome, refused
from segments.errors import StateConflict
from segments.names import TableName
from segments.services.lineage_record import Observed

#: Names in the sentence of a refusal.
_TOLD: Final = 100


def decide(seen: Observed, segments: Sequence[str], final: Collection[str] = ()) -> dict[str, Outcome]:
    """{name: what a deletion of these would do to it}: done, unchanged (no such segment) or refused.

    ``final``: those of which no file is kept, because only servers have them.
    """
    guard, found = _guards(seen), {}
    for segment in dict.fromkeys(segments):
        if segment not in seen.ideal.maps:
            found[segment] = Outcome(segment, "unchanged", f"Segment '{segment}' does not exist.")
        elif segment in guard:
            text = f"Segment '{segment}' is part of lineage entry '{guard[segment]}'."
            found[segment] = refused(segment, text, "End or revert the replacement, or unpin the entry; its clean-up then removes it.")
        elif segment in final:
            found[segment] = Outcome(segment, "done", f"Segment '{segment}' is deleted for good: only servers had it.")
        else:
            found[segment] = Outcome(segment, "done", f"Segment '{segment}' is deleted; its file is kept for a while.")
    return found


def _guards(seen: Observed) -> dict[str, str]:
    """{guarded segment: the newest entry that guards it}."""
    return {s: e.id for e in seen.lineage.in_order() for s in (e.segments_from + e.segments_to if e.is_pinned else e.locks)}


def guarded(seen: Observed) -> set[str]:
    """Segments that nobody may delete by hand: part of a replacement that is not reverted (lineage.md 2), or of a pinned entry."""
    return seen.lineage.locked() | seen.lineage.pinned()


def blocked(table: TableName, locked: Sequence[str]) -> StateConflict:
    """The refusal that names what is locked."""
    shown = ", ".join(locked[:_TOLD]) + (f" and {len(locked) - _TOLD} more" if len(locked) > _TOLD else "")
    return StateConflict(
        f"Segments of table '{table}' are part of a replacement and can not be deleted. Blocking segments: [{shown}].",
        remedy="End or revert the replacement first; its clean-up then removes them.",
        segments=list(locked),
    )
