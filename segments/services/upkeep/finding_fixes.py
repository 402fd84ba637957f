"""Findings of a table and what can be done about each: Fix it, with a dry run that names every write."""

from __future__ import annotations

from typing import Any, Final

from segments.domain.upkeep.findings import is_of_validation
from segments.errors import NotFound, StateConflict
from segments.models import Finding
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.engine.fixes import Fix, no_fix
from segments.services.jobs.queue import enqueue_pass
from segments.services.upkeep.snooze import snoozes_of

#: Which find what can be fixed from here.
_CHECKER: Final = "SegmentStatusChecker"
_OF_CONSUMPTION: Final = "RealtimeSegmentValidationManager"


def find_finding(ctx: Context, table: TableName | None, number: int) -> Finding:
    """A finding of this table; None: of no table, as about a worker. NotFound: there is none of that number, or it is
    another table's.
    """
    name = table.typed if table else ""
    found = Finding.objects.filter(cluster=ctx.cluster, table_name=name, pk=number).first()
    if found is None:
        of, path = (f"Table '{table}'", f"tables/{table}/findings") if table else ("The installation", "findings")
        raise NotFound(f"{of} has no finding {number}.", remedy=f"List them with GET /api/v1/{path}.")
    return found


def plan_fix(ctx: Context, table: TableName, finding: Finding) -> Fix:
    """What would be done about the finding now. Reads, and changes nothing."""
    if finding.closed_at is not None:
        return no_fix("The finding is closed: what it says is not so any more.")
    return ctx.engine.consumption.plan_fix(ctx, table, finding.code, finding.subject)


def fix(ctx: Context, table: TableName, finding: Finding, *, actor: Actor) -> list[str]:
    """Do it; a sentence for each thing done. The pass that found it is run again at once, and closes the finding when
    it does not find it any more.

    StateConflict: there is nothing that can be done now.
    """
    detail = {"code": finding.code, "subject": finding.subject}
    with audit.recorded(ctx, actor, "fixFinding", table.typed, **detail) as recorded:
        plan = plan_fix(ctx, table, finding)
        if plan.why_not:
            raise StateConflict(plan.why_not, remedy="The finding's text says what else to do.")
        recorded["writes"] = list(plan.writes[:100])
        recorded["sentences"] = sentences = plan.run()
    when = "The table is being checked again" if _check(ctx, table, finding) else "The next pass checks the table"
    return [*sentences, f"{when}, which closes the finding if it is gone."]


def _check(ctx: Context, table: TableName, finding: Finding) -> bool:
    """Is the pass that finds it run again now? Not where the cluster's own controllers run the pass that found it."""
    name = _CHECKER if is_of_validation(finding.code) else _OF_CONSUMPTION
    return name not in ctx.engine.offers.own_passes and enqueue_pass(ctx, name, table.typed)


def findings_json(ctx: Context, table: TableName | None, *, closed: bool) -> list[dict[str, Any]]:
    """The findings of the table, or of none, errors first: the 1,000 newest of those that are open, or closed."""
    name = table.typed if table else ""
    rows = Finding.objects.filter(cluster=ctx.cluster, table_name=name, closed_at__isnull=not closed)
    found = list(rows.order_by("severity", "-id")[:1000])
    snoozes, fixable = snoozes_of(found), () if closed or not table else ctx.engine.offers.fixable
    return [_json(f, snoozes.get(f.pk), is_fixable=f.code in fixable) for f in found]


def fix_json(plan: Fix) -> dict[str, Any]:
    """A plan as the API answers it."""
    return {"does": plan.does, "writes": list(plan.writes), "whyNot": plan.why_not}


def _json(finding: Finding, snooze: Any, *, is_fixable: bool) -> dict[str, Any]:
    holds = None
    if snooze is not None:
        holds = {"until": snooze.until.isoformat(), "actor": snooze.actor, "reason": snooze.reason}
    return {
        "id": finding.pk,
        "kind": finding.code,
        "subject": finding.subject,
        "severity": finding.severity,
        "message": finding.message,
        "firstSeen": finding.first_seen.isoformat(),
        "lastSeen": finding.last_seen.isoformat(),
        "closedAt": finding.closed_at.isoformat() if finding.closed_at else None,
        "assignee": finding.assignee,
        "isFixable": is_fixable,
        "snooze": holds,
    }
