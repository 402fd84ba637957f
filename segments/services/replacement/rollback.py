"""Go back several replacements in one switch, or look first what that would do (B4, B7)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from segments.clusters.pinot.replacement import rollback as pinot_rollback
from segments.clusters.pinot.replacement import rules as pinot_rules
from segments.domain.replacement import rollback
from segments.domain.replacement.rollback import RollbackPlan
from segments.errors import PinotAdminError
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.replacement.lineage_switch import Switch, apply_switch
from segments.services.replacement.loading import once_loaded
from segments.services.replacement.rollback_preview import SnapshotSummary, summarise
from segments.services.segments.online import serving_rows
from segments.services.segments.segments import read_records


@dataclass(frozen=True)
class RollbackStep:
    """One entry that would be reverted: its state now and since when (epoch ms), and how many segments it names on
    either side.
    """

    entry_id: str
    state: str
    timestamp_ms: int
    segments_from: int
    segments_to: int
    pinned: bool


@dataclass(frozen=True)
class RollbackPreview:
    """The effect of going back to before ``target``. ``blockers`` are sentences; it is allowed when there are none.

    ``deleted_segments`` go afterwards, ``kept_segments`` are hidden but stay because they are pinned.
    ``undo_until_ms``: until when it could be undone if it were done now (epoch ms), None: not at all. ``notes``: what
    else to know.
    """

    table: str
    target: str
    allowed: bool
    needs_force: bool
    blockers: list[str]
    steps: list[RollbackStep]
    before: SnapshotSummary
    after: SnapshotSummary
    deleted_segments: list[str]
    kept_segments: list[str]
    undo_until_ms: int | None = None
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form for ``dryRun=true``."""
        return asdict(self)


@dataclass(frozen=True)
class RollbackDone:
    """The entries that were reverted, newest first, and the segments that are gone or on their way.

    ``undo_until_ms``: until when it can be undone (epoch ms), None: not at all.
    """

    table: str
    reverted: tuple[str, ...]
    deleted: tuple[str, ...]
    undo_until_ms: int | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form."""
        lists = {"reverted": list(self.reverted), "deletedSegments": list(self.deleted)}
        return {"table": self.table, **lists, "undoPossibleUntilMs": self.undo_until_ms}


def preview_rollback(ctx: Context, table: TableName, target: str, *, force: bool = False) -> RollbackPreview:
    """Look, change nothing. NotFound when table or entry do not exist."""
    seen = observe(ctx, table)
    plan = _plan(ctx, table, seen, target, force=force)
    unforced, forced = (_plan(ctx, table, seen, target, force=f) for f in (False, True))
    before, after = seen.lineage.visible(seen.ideal.maps), plan.after.visible(seen.ideal.maps)
    records = read_records(ctx, table, sorted({*before, *after}))
    hidden, pinned = plan.after.hidden(), plan.after.pinned()
    return RollbackPreview(
        table=table.typed,
        target=target,
        allowed=not plan.blockers,
        needs_force=bool(unforced.blockers) and not forced.blockers,
        blockers=[str(b) for b in plan.blockers],
        steps=[
            RollbackStep(e.id, e.state.value, e.timestamp_ms, len(e.segments_from), len(e.segments_to), e.is_pinned)
            for e in plan.steps
        ],
        before=summarise(records[s] for s in before if s in records),
        after=summarise(records[s] for s in after if s in records),
        deleted_segments=sorted(plan.delete),
        kept_segments=sorted(
            {s for e in plan.steps for s in e.segments_to if s in pinned and s in hidden and s in seen.ideal.maps}
        ),
        undo_until_ms=pinot_rules.undo_until_ms(ctx, seen.config),
        notes=pinot_rollback.notes_of(plan) if ctx.pinot is not None else [],
    )


def roll_back(ctx: Context, table: TableName, target: str, *, force: bool = False, actor: Actor) -> RollbackDone:
    """Revert ``target`` and everything built on it; returns when all live brokers serve the older snapshot; then
    deletes.

    All entries change in one write, so a query sees the newest snapshot or the wanted one. Raises NotFound,
    StateConflict or PreconditionFailed; nothing is written then. Cut anywhere it may be asked for again: it is done
    once, and then StateConflict says so.
    """
    if ctx.pinot is not None:
        return _roll_back_pinot(ctx, table, target, force, actor)
    decided: list[RollbackPlan] = []

    def decide(seen: Observed) -> Switch:
        plan = _plan(ctx, table, seen, target, force=force)
        rollback.require_possible(plan)
        decided[:] = [plan]
        detail = {"entry": target, "entries": [e.id for e in plan.steps], "forceRevert": force}
        return Switch(plan.after, plan.delete, detail)

    try:
        once_loaded(ctx, table, lambda: apply_switch(ctx, table, "rollback", actor, decide))
    except PinotAdminError as error:
        outcome = "refused" if error.permanent else "failed"
        audit.record(
            actor, "rollback", cluster=ctx.cluster, target=table.typed, outcome=outcome, entry=target, error=str(error)
        )
        raise
    for entry in decided[0].steps[:-1]:  # the record of the one asked for was written with the switch
        audit.record(actor, "rollback", cluster=ctx.cluster, target=table.typed, entry=entry.id, to=target)
    until = pinot_rules.undo_until_ms(ctx, observe(ctx, table).config)
    return RollbackDone(table.typed, tuple(e.id for e in decided[0].steps), decided[0].delete, until)


def _roll_back_pinot(ctx: Context, table: TableName, target: str, force: bool, actor: Actor) -> RollbackDone:
    try:
        done = pinot_rollback.roll_back(ctx, table, target, force=force, actor=actor)
    except PinotAdminError as error:
        outcome = "refused" if error.permanent else "failed"
        audit.record(
            actor, "rollback", cluster=ctx.cluster, target=table.typed, outcome=outcome, entry=target, error=str(error)
        )
        raise
    return RollbackDone(
        table.typed, done.done, done.deleted, pinot_rules.undo_until_ms(ctx, observe(ctx, table).config)
    )


def _plan(ctx: Context, table: TableName, seen: Observed, target: str, *, force: bool) -> RollbackPlan:
    if ctx.pinot is not None:
        return pinot_rollback.plan(ctx, table, seen, target, force=force)
    rows = serving_rows(ctx, table, seen.ideal.maps)
    return rollback.plan_rollback(seen.lineage, target, rows, force=force, now_ms=ctx.clock())
