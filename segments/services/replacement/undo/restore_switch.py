"""Restore as a switch: deleted segments that a replacement removed come back, and what stands for them now is hidden
in the same step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from segments.domain.formats.plural import counted
from segments.domain.replacement.lineage import Entry, State
from segments.domain.replacement.undo.kept_entries import known_entries
from segments.domain.replacement.undo.plan import begin
from segments.domain.replacement.undo.return_rule import stand_ins
from segments.errors import PreconditionFailed, StateConflict
from segments.names import TableName, check_segment_name
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.engine.lineage import Opening, Return
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.replacement.protocol import switch_detail
from segments.services.replacement.rollback_preview import SnapshotSummary, summarise
from segments.services.replacement.undo.kept_entries import read_kept_entries
from segments.services.replacement.undo.undo_entry import new_entry
from segments.services.segments import restore
from segments.services.segments.segments import read_records

_ACTION: Final = "restoreSwitch"


@dataclass(frozen=True)
class SwitchPreview:
    """What it does: ``returning_segments`` are seen instead of ``hidden_segments``. ``entry_id``: the new entry, empty
    in a dry run.
    """

    table: str
    entry_id: str
    before: SnapshotSummary
    after: SnapshotSummary
    returning_segments: list[str]
    hidden_segments: list[str]

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form."""
        return asdict(self)


def preview_switch(ctx: Context, table: TableName, segments: Sequence[str]) -> SwitchPreview:
    """Changes nothing. Raises as ``restore_switch``."""
    seen, back = observe(ctx, table), _names(segments)
    gone = _decide(ctx, seen, back)
    found = restore.look_up(ctx, seen.config, back)
    metadata = [k.kept.metadata for f in found.values() if (k := f.kept) is not None and k.kept is not None]
    metadata += list(read_records(ctx, table, [s for s in back if found[s].kept is None]).values())
    records = read_records(ctx, table, seen.lineage.visible(seen.ideal.maps))
    after = [*(m for s, m in records.items() if s not in gone), *metadata]
    return SwitchPreview(table.typed, "", summarise(records.values()), summarise(after), back, gone)


def restore_switch(ctx: Context, table: TableName, segments: Sequence[str], *, actor: Actor) -> SwitchPreview:
    """Bring these back hidden, then show them instead of what stands for them now; returns when all live brokers do.

    What goes is all that queries see of a REFRESH table, of others what replaced these segments. Raises StateConflict
    or PreconditionFailed where it is not known, or one of them cannot come back; queries see no difference then.
    """
    back = _names(segments)
    detail = {"segments": back[:100], "count": len(back)}
    with audit.recorded(ctx, actor, _ACTION, table.typed, **detail) as recorded:
        preview, new_id = preview_switch(ctx, table, back), ctx.new_id()

        def decide(seen: Observed) -> Opening | Entry:
            if new_id in seen.lineage.entries:
                return seen.lineage.entries[new_id]
            entry = new_entry(ctx, new_id, _decide(ctx, seen, back), back, actor, {})
            lineage, stripped = begin(seen.lineage, entry)
            return Opening(lineage, lineage.entries[new_id], stripped)

        done = ctx.engine.lineage.bring_back(ctx, table, Return(new_id, _ACTION, decide), actor)
        recorded |= {**(switch_detail(done.switched) if done.switched else {}), "entry": new_id}
    hidden, returned = list(done.entry.segments_from), list(done.entry.segments_to)
    return SwitchPreview(table.typed, new_id, preview.before, preview.after, returned, hidden)


def _names(segments: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(check_segment_name(s) for s in segments))


def _decide(ctx: Context, seen: Observed, back: Sequence[str]) -> list[str]:
    """What goes. Raises why it cannot be."""
    ctx.engine.lineage.require_bring_back()
    visible = seen.lineage.visible(seen.ideal.maps)
    _check_names(seen, back)
    gone = visible if seen.config.is_refresh else _stand_ins(ctx, seen, back, visible)
    lost = [
        f.outcome
        for f in restore.look_up(ctx, seen.config, back).values()
        if f.outcome.outcome != "done" and f.item is None
    ]
    if lost:
        raise PreconditionFailed(lost[0].message, remedy=lost[0].remedy, segments=[o.segment for o in lost])
    return sorted(gone)


def _stand_ins(ctx: Context, seen: Observed, back: Sequence[str], visible: Sequence[str]) -> list[str]:
    found = stand_ins(known_entries(seen.lineage, read_kept_entries(ctx, seen.table)), back, set(visible))
    if visible and not found:
        rows = sum(m.total_docs or 0 for m in read_records(ctx, seen.table, visible).values())
        raise StateConflict(
            f"No replacement says which of the {len(visible)} segments with {counted(rows, 'row')} that queries see "
            f"stand for '{back[0]}'.",
            remedy="Restore it without switch=true, or start a replacement that names "
            "what goes and push the data again.",
        )
    return sorted(found)


def _check_names(seen: Observed, back: Sequence[str]) -> None:
    there = [s for s in back if s in seen.ideal.maps]
    if there:
        raise StateConflict(
            f"Segment '{there[0]}' exists in table '{seen.lineage.table}'.", remedy="Roll back to it.", segments=there
        )
    for entry in seen.lineage.in_order():
        held_back = sorted(set(back).intersection(entry.hides)) if entry.state is not State.REVERTED else []
        if held_back:
            raise StateConflict(
                f"Segment '{held_back[0]}' is hidden by lineage entry '{entry.id}' ({entry.state}).",
                remedy="Restore it with includeHidden=true, then roll that entry back.",
                entry=entry.id,
                segments=held_back,
            )
