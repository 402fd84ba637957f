"""What undoing a rollback would do now: the plan with all that stands in its way; nothing is changed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from segments.domain.replacement.lineage import Entry
from segments.domain.replacement.undo.kept_entries import known_entries
from segments.domain.replacement.undo.plan import UndoPlan, plan_undo, strangers_blocker, undoable
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.domain.tables.table_config import TableConfig
from segments.errors import PinotAdminError, PreconditionFailed
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.replacement.rollback_preview import SnapshotSummary, summarise
from segments.services.replacement.undo.kept_entries import read_kept_entries
from segments.services.replacement.undo_deadline import undo_kept_ms
from segments.services.segments import restore
from segments.services.segments.restore import Found
from segments.services.segments.segments import read_records


@dataclass(frozen=True)
class UndoPreview:
    """The effect of undoing a rollback. ``blockers`` are sentences; it is allowed when there are none.

    ``undoes``: the entries that the rollback took back, newest first. ``possible_until_ms``: when the first file of
    what it removed goes (epoch ms), None when one is gone already. ``under_way``: the entry of an undo that runs,
    else empty.
    """

    table: str
    entry_id: str
    allowed: bool
    needs_force: bool
    blockers: list[str]
    undoes: list[str]
    rolled_back_ms: int
    before: SnapshotSummary
    after: SnapshotSummary
    returning_segments: list[str]
    hidden_segments: list[str]
    possible_until_ms: int | None
    under_way: str = ""
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form for ``dryRun=true``."""
        return asdict(self)


@dataclass(frozen=True)
class RolledBack:
    """A rollback that was not undone: the entry it went back to, all that it took back, when, and until when files are
    kept (epoch ms).
    """

    target: str
    entries: tuple[str, ...]
    at_ms: int
    until_ms: int


def open_rollbacks(ctx: Context, table: TableName) -> list[RolledBack]:
    """Rollbacks that are not undone and whose files should still be kept, latest first. What stands in the way only a
    preview shows.
    """
    seen = observe(ctx, table)
    kept = undo_kept_ms(ctx, seen.config)
    found = [
        RolledBack(t, tuple(e.id for e in es), es[0].timestamp_ms, es[0].timestamp_ms + kept)
        for t, es in _targets(ctx, table, seen)
    ]
    return sorted((f for f in found if f.until_ms > ctx.clock()), key=lambda f: -f.at_ms)


def _targets(ctx: Context, table: TableName, seen: Observed) -> list[tuple[str, list[Entry]]]:
    return list(undoable(known_entries(seen.lineage, read_kept_entries(ctx, table))).items())


def plan_of(ctx: Context, table: TableName, seen: Observed, entry_id: str) -> UndoPlan:
    """The plan by the lineage as read. Raises as ``plan_undo``."""
    return plan_undo(seen.lineage, read_kept_entries(ctx, table), entry_id, seen.ideal.maps)


def preview_undo(ctx: Context, table: TableName, entry_id: str, *, force: bool = False) -> UndoPreview:
    """Changes nothing. Raises NotFound, or StateConflict when there is no rollback to undo."""
    seen = observe(ctx, table)
    plan = plan_of(ctx, table, seen, entry_id)
    found = restore.look_up(ctx, seen.config, [s for s in plan.back if s not in seen.ideal.maps])
    visible = seen.lineage.visible(seen.ideal.maps)
    records = read_records(ctx, table, sorted({*visible, *plan.back}))
    returning = [_kept_record(found.get(s)) or records.get(s) for s in plan.back]
    unforced = _all_blockers(ctx, table, seen, plan, found, force=False)
    forced = _all_blockers(ctx, table, seen, plan, found, force=True)
    before = [records[s] for s in visible if s in records]
    after = [*(m for m in before if m.name not in set(plan.gone)), *(m for m in returning if m is not None)]
    return UndoPreview(
        table=table.typed,
        entry_id=entry_id,
        allowed=not (forced if force else unforced),
        needs_force=bool(unforced) and not forced,
        blockers=[str(b) for b in (forced if force else unforced)],
        undoes=[e.id for e in plan.steps],
        rolled_back_ms=plan.at_ms,
        before=summarise(before),
        after=summarise(after),
        returning_segments=sorted(plan.back),
        hidden_segments=sorted(plan.gone),
        possible_until_ms=_until_ms(ctx, seen.config, plan, found),
        under_way=plan.attempt.id if plan.attempt else "",
    )


def blockers(ctx: Context, table: TableName, seen: Observed, plan: UndoPlan, *, force: bool) -> list[PinotAdminError]:
    """Why it cannot be done now, what is kept of the segments included; empty: it can."""
    found = restore.look_up(ctx, seen.config, [s for s in plan.back if s not in seen.ideal.maps])
    return _all_blockers(ctx, table, seen, plan, found, force=force)


def _all_blockers(
    ctx: Context, table: TableName, seen: Observed, plan: UndoPlan, found: dict[str, Found], *, force: bool
) -> list[PinotAdminError]:
    standing: list[PinotAdminError] = list(plan.blockers)
    gone = {s: f.outcome for s, f in found.items() if f.outcome.outcome != "done" and f.item is None}
    if gone:
        first = next(iter(gone.values()))
        more = f" ({len(gone)} of {len(plan.back)} segments cannot come back.)" if len(gone) > 1 else ""
        standing.append(
            PreconditionFailed(first.message + more, remedy=first.remedy, entry=plan.target, segments=list(gone))
        )
    strangers = [] if force else _strangers(ctx, table, seen, plan)
    if strangers:
        standing.append(strangers_blocker(plan, [m.name for m in strangers], sum(m.total_docs or 0 for m in strangers)))
    return standing


def _strangers(ctx: Context, table: TableName, seen: Observed, plan: UndoPlan) -> list[SegmentMetadata]:
    """Visible segments that were pushed after the rollback and would be seen together with what comes back."""
    mine = {*plan.gone, *plan.back}
    records = read_records(ctx, table, [s for s in seen.lineage.visible(seen.ideal.maps) if s not in mine])
    return [m for m in records.values() if (m.push_ms or 0) > plan.at_ms] if plan.back else []


def _kept_record(found: Found | None) -> SegmentMetadata | None:
    """Of a segment that is among the deleted ones; what waits for its deletion has its own record still."""
    kept = found.kept.kept if found is not None and found.kept is not None else None
    return kept.metadata if kept is not None else None


def _until_ms(ctx: Context, config: TableConfig, plan: UndoPlan, found: dict[str, Found]) -> int | None:
    """When the first of the files goes."""
    term = undo_kept_ms(ctx, config)
    times = [plan.at_ms + term]
    for one in found.values():
        if one.kept is not None:
            times.append(one.kept.expires_ms)
        elif one.item is not None:
            times.append(one.item.requested_ms + term)
        else:
            return None
    return min(times[1:] or times)
