"""Undo a rollback: what it removed comes back from the archive, hidden until all replicas serve it, then one
acknowledged switch.

To Pinot's clients a revert deletes as ever: the archive of deleted segments is what an undo lives on, so it is possible
as long as their files are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.protocol import switch_detail

ACTION = "undoRollback"


@dataclass(frozen=True)
class UndoDone:
    """``entry``: the new one, which can be rolled back until ``rollback_until_ms`` (epoch ms); ``undone``: those whose
    rollback is undone.

    ``returned`` segments are seen again, ``hidden`` ones no longer.
    """

    table: str
    entry: str
    undone: tuple[str, ...]
    returned: tuple[str, ...]
    hidden: tuple[str, ...]
    rollback_until_ms: int | None

    def to_json(self) -> dict[str, object]:
        """JSON-ready form."""
        return {
            "table": self.table,
            "segmentLineageEntryId": self.entry,
            "undone": list(self.undone),
            "returnedSegments": list(self.returned),
            "hiddenSegments": list(self.hidden),
            "rollbackPossibleUntilMs": self.rollback_until_ms,
        }


def undo_rollback(ctx: Context, table: TableName, entry_id: str, *, force: bool = False, actor: Actor) -> UndoDone:
    """Undo the rollback that took this entry back, with all others that it took back in the same switch.

    Returns when all live brokers serve what comes back. ``force`` passes over newer data that would be seen together
    with it. Raises NotFound, StateConflict or PreconditionFailed; queries see no difference then. Cut anywhere it may
    be called again: it continues.
    """
    with audit.recorded(ctx, actor, ACTION, table.typed, entry=entry_id, forced=force) as recorded:
        undone = ctx.engine.lineage.undo(ctx, table, entry_id, force=force, actor=actor)
        more = switch_detail(undone.switched) if undone.switched is not None else {}
        recorded |= {**more, "entry": undone.entry.id, "undoes": entry_id}
    done, steps = undone.entry, tuple(e.id for e in undone.plan.steps)
    for step in steps:  # the record of the new entry was written with the switch
        audit.record(actor, ACTION, cluster=ctx.cluster, target=table.typed, entry=step, by=done.id)
    seen = observe(ctx, table)
    until = ctx.engine.lineage.rollback_until_ms(ctx, seen, done, seen.config)
    return UndoDone(table.typed, done.id, steps, done.segments_to, done.segments_from, until)
