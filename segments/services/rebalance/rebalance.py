"""Rebalance a table: its segments are spread over its servers again, a few at a time, while queries go on."""

from __future__ import annotations

from segments.domain.rebalance.answers import Progress, Result
from segments.domain.rebalance.job import Status
from segments.domain.rebalance.options import Options
from segments.errors import InvalidInput, StateConflict
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.jobs.queue import enqueue_rebalance


def preview(ctx: Context, table: TableName, options: Options, *, has_checks: bool = True) -> Result:
    """What a rebalance would move; nothing is written. Raises NotFound, InvalidInput, StateConflict."""
    return ctx.engine.rebalance.preview(ctx, table, options, has_checks=has_checks)


def start(ctx: Context, table: TableName, options: Options, *, actor: Actor) -> Result:
    """Begin a rebalance; returns at once, ``status`` says how far it is. Raises as ``preview``, and StateConflict while
    another one of the table runs, or when the only copy of rows might be lost and that is not allowed.
    """
    action = "rebalance"
    with audit.recorded(ctx, actor, action, table.typed, options=_given(options)) as detail:
        if options.allow_data_loss and not actor.reason.strip():
            raise InvalidInput(
                "allowPeerDownloadDataLoss=true may lose rows for good and needs a reason.",
                remedy="Give it as reason=... or in the header X-Reason.",
            )
        result = ctx.engine.rebalance.start(ctx, table, options, actor)
        plan = result.plan
        if plan.at_risk:
            detail["atRisk"] = list(plan.at_risk[:100])
        if result.status is Status.FAILED:
            raise StateConflict(result.description, remedy="A dry run with preChecks=true says more.")
        detail |= {"status": result.status.value, "segments": plan.size.segments, "replicas": plan.size.added}
        if result.status is Status.IN_PROGRESS:
            detail |= {"job": result.job_id, "loads": dict(plan.loads), "loses": dict(plan.loses)}
            enqueue_rebalance(ctx, table.typed)
        return result


def status(ctx: Context, job_id: str) -> Progress:
    """How far a rebalance is, read now. NotFound when nobody knows it."""
    return ctx.engine.rebalance.status(ctx, job_id)


def newest(ctx: Context, table: TableName) -> Progress | None:
    """The table's rebalance that runs, or ran last; None when none is on record."""
    return ctx.engine.rebalance.newest(ctx, table)


def stop(ctx: Context, table: TableName, *, actor: Actor) -> list[str]:
    """Stop what runs; ids of the rebalances that were stopped, none when nothing ran. Every segment stays served."""
    with audit.recorded(ctx, actor, "stopRebalance", table.typed) as detail:
        detail["jobs"] = stopped = ctx.engine.rebalance.stop(ctx, table, actor)
        return stopped


def keep(ctx: Context) -> list[str]:
    """The pass over all tables: carry running rebalances on; a sentence for each that ended."""
    return ctx.engine.rebalance.keep(ctx)


def keep_one(ctx: Context, table: TableName) -> list[str]:
    """Carry the rebalances on, and say how far that of this table is."""
    sentences = keep(ctx)
    now = newest(ctx, table)
    if now is not None and now.is_open:
        sentences.append(f"The rebalance of {table} is {now.percent} % done.")
    return sentences


def _given(options: Options) -> dict[str, object]:
    """The options that differ from the defaults, for the record."""
    plain, found = Options().to_json(), options.to_json()
    return {name: value for name, value in found.items() if value != plain[name]}
