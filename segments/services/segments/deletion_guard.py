"""Which segments nobody may delete by hand, because a replacement or a pin needs them, and the refusal that says so.

Pinot's cluster setting ``controller.lineage.exclusive.delete.enabled``, when it is ``false``, leaves only what is
pinned guarded.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from segments.domain.segments.archive import Outcome, refused
from segments.errors import StateConflict
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import Observed

#: Names in the sentence of a refusal.
_SHOWN: Final = 100


def is_exclusive(ctx: Context) -> bool:
    """Do replacements guard their segments?"""
    return ctx.engine.segments.guards_lineage(ctx)


def decide(
    seen: Observed, segments: Sequence[str], final: Collection[str] = (), *, exclusive: bool = True
) -> dict[str, Outcome]:
    """{name: what a deletion of these would do to it}: done, unchanged (no such segment) or refused.

    ``final``: those of which no file is kept, because only servers have them. ``exclusive``: replacements guard their
    segments.
    """
    guard, found = _guards(seen, exclusive), {}
    for segment in dict.fromkeys(segments):
        if segment not in seen.ideal.maps:
            found[segment] = Outcome(segment, "unchanged", f"Segment '{segment}' does not exist.")
        elif segment in guard:
            text = f"Segment '{segment}' is part of lineage entry '{guard[segment]}'."
            found[segment] = refused(
                segment, text, "End or revert the replacement, or unpin the entry; its clean-up then removes it."
            )
        elif segment in final:
            found[segment] = Outcome(segment, "done", f"Segment '{segment}' is deleted for good: only servers had it.")
        else:
            found[segment] = Outcome(segment, "done", f"Segment '{segment}' is deleted; its file is kept for a while.")
    return found


def _guards(seen: Observed, exclusive: bool) -> dict[str, str]:
    """{guarded segment: the newest entry that guards it}."""
    entries = [e for e in seen.lineage.in_order() if e.is_pinned or exclusive]
    return {s: e.id for e in entries for s in (e.segments_from + e.segments_to if e.is_pinned else e.locks)}


def guarded(seen: Observed, *, exclusive: bool = True) -> set[str]:
    """Segments that nobody may delete by hand: of a pinned entry or, while ``exclusive``, of a replacement that is not
    reverted.
    """
    return seen.lineage.pinned() | (seen.lineage.locked() if exclusive else set())


def blocked(table: TableName, locked: Sequence[str]) -> StateConflict:
    """The refusal that names what is locked."""
    shown = ", ".join(locked[:_SHOWN]) + (f" and {len(locked) - _SHOWN} more" if len(locked) > _SHOWN else "")
    return StateConflict(
        f"Segments of table '{table}' are part of a replacement and cannot be deleted. Blocking segments: [{shown}].",
        remedy="End or revert the replacement first; its clean-up then removes them.",
        segments=list(locked),
    )
