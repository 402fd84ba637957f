"""Undo a rollback: what it took away comes back from the archive, hidden until all replicas serve it, then one
acknowledged switch.

To Pinot's clients a revert deletes as ever: the archive of deleted segments is what an undo lives on, so it is possible
as long as their files are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from segments.clusters.pinot.replacement.rules import rollback_until_ms
from segments.clusters.pinot.replacement.undo import undo_on_pinot
from segments.domain.replacement.lineage import UNDOES, Entry
from segments.domain.replacement.undo.plan import UndoPlan, begin
from segments.errors import PinotAdminError, StateConflict
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.replacement.undo.planning import blockers, plan_of
from segments.services.replacement.undo.switch_back import Opening, Return, held, new_entry

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

    Returns when all live brokers serve what comes back. ``force`` passes over newer data that would be seen beside it.
    Raises NotFound, StateConflict or PreconditionFailed; queries see no difference then. Cut anywhere it may be asked
    for again: it goes on.
    """
    try:
        if ctx.pinot is not None:
            with held(ctx, f"{table.typed}-{entry_id}"):
                return _undo_on_pinot(ctx, table, entry_id, force, actor)
        plan = plan_of(ctx, table, observe(ctx, table), entry_id)
        new_id = plan.attempt.id if plan.attempt else ctx.new_id()
        with held(ctx, new_id):
            return _undo(ctx, table, entry_id, new_id, force, actor)
    except PinotAdminError as error:
        outcome = "refused" if error.permanent else "failed"
        audit.record(
            actor, ACTION, cluster=ctx.cluster, target=table.typed, outcome=outcome, entry=entry_id, error=str(error)
        )
        raise


def _undo(ctx: Context, table: TableName, entry_id: str, new_id: str, force: bool, actor: Actor) -> UndoDone:
    decided: list[UndoPlan] = []

    def decide(seen: Observed) -> Opening | Entry:
        plan = plan_of(ctx, table, seen, entry_id)
        decided[:] = [plan]
        if plan.attempt is not None and plan.attempt.id == new_id:
            return plan.attempt
        if plan.attempt is not None:
            raise _under_way(plan)
        for blocker in blockers(ctx, table, seen, plan, force=force):
            raise blocker
        entry = new_entry(ctx, new_id, plan.gone, plan.back, actor, {UNDOES: plan.target})
        lineage, stripped = begin(seen.lineage, entry, inherit=[e.id for e in plan.steps])
        return Opening(lineage, lineage.entries[new_id], stripped)

    back = Return(ctx, table, actor, ACTION, {"undoes": entry_id, "forced": force})
    back.open(decide)
    done = back.carry_out(new_id)
    steps = tuple(e.id for e in decided[0].steps)
    for step in steps:  # the record of the new entry was written with the switch
        audit.record(actor, ACTION, cluster=ctx.cluster, target=table.typed, entry=step, by=new_id)
    seen = observe(ctx, table)
    until = rollback_until_ms(ctx, seen, done, seen.config)
    return UndoDone(table.typed, new_id, steps, done.segments_to, done.segments_from, until)


def _undo_on_pinot(ctx: Context, table: TableName, entry_id: str, force: bool, actor: Actor) -> UndoDone:
    plan, done = undo_on_pinot(ctx, table, entry_id, force=force, actor=actor)
    steps = tuple(e.id for e in plan.steps)
    for step in steps:
        audit.record(actor, ACTION, cluster=ctx.cluster, target=table.typed, entry=step, by=done.id)
    seen = observe(ctx, table)
    return UndoDone(
        table.typed,
        done.id,
        steps,
        done.segments_to,
        done.segments_from,
        rollback_until_ms(ctx, seen, done, seen.config),
    )


def _under_way(plan: UndoPlan) -> StateConflict:
    entry = plan.attempt.id if plan.attempt else ""
    text = f"The rollback of entry '{plan.target}' is being undone by entry '{entry}'."
    return StateConflict(text, remedy="Look at that entry in a moment.", entry=plan.target, undo=entry)
