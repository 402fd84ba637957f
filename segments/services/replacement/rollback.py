"""Go back several replacements, or preview what that would do (rule `preview-first`)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from segments.domain.replacement import rollback
from segments.domain.replacement.rollback import RollbackPlan
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.replacement.lineage_record import Observed, observe, observe_served
from segments.services.replacement.rollback_preview import SnapshotSummary, summarise
from segments.services.replacement.undo_deadline import undo_until_ms
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


def plan_of_rollback(ctx: Context, seen: Observed, target: str, *, force: bool) -> RollbackPlan:
    """The plan by the lineage as read, with all that stands in its way on this kind of cluster. NotFound: no such
    entry.
    """
    plan = rollback.plan_rollback(seen.lineage, target, seen.served, force=force, now_ms=ctx.clock())
    return ctx.engine.lineage.limited(plan, seen.served)


def preview_rollback(ctx: Context, table: TableName, target: str, *, force: bool = False) -> RollbackPreview:
    """Changes nothing. NotFound when table or entry do not exist."""
    seen = observe_served(ctx, table)
    plan = plan_of_rollback(ctx, seen, target, force=force)
    unforced, forced = (plan_of_rollback(ctx, seen, target, force=f) for f in (False, True))
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
        undo_until_ms=undo_until_ms(ctx, seen.config),
        notes=ctx.engine.lineage.rollback_notes(plan),
    )


def roll_back(ctx: Context, table: TableName, target: str, *, force: bool = False, actor: Actor) -> RollbackDone:
    """Revert ``target`` and everything built on it; returns when all live brokers serve the older snapshot; then
    deletes.

    On the embedded cluster all entries change in one write, so a query sees the newest snapshot or the wanted one.
    Raises NotFound, StateConflict or PreconditionFailed; nothing is changed then. Cut anywhere it may be called again:
    it is done once, and then StateConflict says so.
    """
    with audit.recorded(ctx, actor, "rollback", table.typed, entry=target, forceRevert=force) as recorded:
        done = ctx.engine.lineage.roll_back(ctx, table, target, force=force, actor=actor)
        recorded |= {"entries": list(done.steps), **done.detail}
    return RollbackDone(table.typed, done.steps, done.deleted, undo_until_ms(ctx, observe(ctx, table).config))
