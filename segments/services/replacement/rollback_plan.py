"""The plan of a rollback over several entries as the cluster can carry it out now."""

from __future__ import annotations

from segments.domain.replacement import rollback
from segments.domain.replacement.rollback import RollbackPlan
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import Observed
from segments.services.segments.online import serving_rows


def plan_of_rollback(ctx: Context, table: TableName, seen: Observed, target: str, *, force: bool) -> RollbackPlan:
    """The plan by the lineage as read, with all that stands in its way on this kind of cluster. NotFound: no such
    entry.
    """
    rows = serving_rows(ctx, table, seen.ideal.maps)
    plan = rollback.plan_rollback(seen.lineage, target, rows, force=force, now_ms=ctx.clock())
    return ctx.engine.lineage.limited(plan, rows)
