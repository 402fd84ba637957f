"""Going back several replacements in one switch (rule `steps-back-in-one-switch`)."""

from __future__ import annotations

from segments.clusters.embedded.replacement.switching import switch
from segments.domain.replacement import rollback
from segments.domain.replacement.rollback import RollbackPlan
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.engine.lineage import RolledBack, Switch
from segments.services.replacement.lineage_record import Observed
from segments.services.replacement.loading_segments import once_loaded
from segments.services.replacement.rollback import plan_of_rollback


def roll_back(ctx: Context, table: TableName, target: str, *, force: bool, actor: Actor) -> RolledBack:
    """As ``LineageEngine.roll_back``: all entries change in one write."""
    decided: list[RollbackPlan] = []

    def decide(seen: Observed) -> Switch:
        plan = plan_of_rollback(ctx, seen, target, force=force)
        rollback.require_possible(plan)
        decided[:] = [plan]
        return Switch(plan.after, plan.after.entry(target), delete=plan.delete)

    done = once_loaded(ctx, table, lambda: switch(ctx, table, decide, served=True))
    assert done is not None  # a rollback is never nothing to do
    steps = tuple(e.id for e in decided[0].steps)
    for step in steps[:-1]:
        audit.record(actor, "rollback", cluster=ctx.cluster, target=table.typed, entry=step, to=target)
    detail = {"deleted": list(done.deleted[:100]), "countDeleted": len(done.deleted), **done.brokers}
    return RolledBack(steps, tuple(decided[0].delete), detail)
