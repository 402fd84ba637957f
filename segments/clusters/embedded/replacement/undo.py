"""Undo of a rollback: what it removed comes back under its own names, from the archive of deleted segments."""

from __future__ import annotations

from segments.clusters.embedded.replacement.switch_back import bring_back
from segments.domain.replacement.lineage import UNDOES, Entry
from segments.domain.replacement.undo.plan import UndoPlan, begin
from segments.errors import StateConflict
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.engine.lineage import Opening, Return, Undone
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.replacement.undo.planning import blockers, plan_of
from segments.services.replacement.undo.undo_entry import new_entry


def undo(ctx: Context, table: TableName, entry_id: str, *, force: bool, actor: Actor) -> Undone:
    """As ``LineageEngine.undo``."""
    plan = plan_of(ctx, table, observe(ctx, table), entry_id)
    new_id = plan.attempt.id if plan.attempt else ctx.new_id()
    decided: list[UndoPlan] = []

    def decide(seen: Observed) -> Opening | Entry:
        plan = plan_of(ctx, table, seen, entry_id)
        decided[:] = [plan]
        if plan.attempt is not None and plan.attempt.id == new_id:
            return plan.attempt
        if plan.attempt is not None:
            raise _under_way(plan, plan.attempt)
        for blocker in blockers(ctx, table, seen, plan, force=force):
            raise blocker
        entry = new_entry(ctx, new_id, plan.gone, plan.back, actor, {UNDOES: plan.target})
        lineage, stripped = begin(seen.lineage, entry, inherit=[e.id for e in plan.steps])
        return Opening(lineage, lineage.entries[new_id], stripped)

    back = bring_back(ctx, table, Return(new_id, "undoRollback", decide), actor)
    return Undone(decided[0], back.entry, back.switched)


def _under_way(plan: UndoPlan, attempt: Entry) -> StateConflict:
    text = f"The rollback of entry '{plan.target}' is being undone by entry '{attempt.id}'."
    return StateConflict(text, remedy="Check that entry in a moment.", entry=plan.target, undo=attempt.id)
