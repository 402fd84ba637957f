"""What a rollback would do: rows, segments, bytes and time range before and after, and what stands in its way
(rule `preview-first`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from segments.domain.replacement import decisions as replacement
from segments.domain.replacement import lineage as lineages
from segments.domain.replacement.lineage import State
from segments.domain.segments import segment_metadata
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.undo_deadline import undo_until_ms
from segments.services.replacement.unlinked_successors import newer_strangers
from segments.services.segments.online import serving_rows
from segments.services.tables.table_record import read_table_config
from segments.store import paths


@dataclass(frozen=True)
class SnapshotSummary:
    """What queries see: segments, rows, bytes of their files, first and last time (epoch ms, None when unknown)."""

    segments: int
    rows: int
    bytes: int
    start_ms: int | None
    end_ms: int | None


@dataclass(frozen=True)
class RevertPreview:
    """The effect of reverting one entry now. ``blockers`` are sentences; it is allowed when there are none.

    ``undo_until_ms``: until when it could be undone if it were done now (epoch ms), None: not at all. ``notes``: what
    else to know.
    """

    entry_id: str
    table: str
    state: str
    allowed: bool
    needs_force: bool
    blockers: list[str]
    before: SnapshotSummary
    after: SnapshotSummary
    deleted_segments: list[str]
    possible_until_ms: int | None
    undo_until_ms: int | None = None
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form for ``dryRun=true``."""
        return asdict(self)


def preview_revert(ctx: Context, table: TableName, entry_id: str, *, force: bool = False) -> RevertPreview:
    """Changes nothing; ``force`` as it would be given. NotFound when table or entry do not exist."""
    config = read_table_config(ctx, table)
    seen = observe(ctx, table)
    entry = seen.lineage.entry(entry_id)
    rows = serving_rows(ctx, table, seen.ideal.maps)
    gone, strangers = replacement.lost_segments(seen.lineage, entry, rows), newer_strangers(ctx, table, seen, entry_id)
    lost = [str(b) for b in replacement.lost_blockers(entry, gone, strangers)]
    blockers = [*(str(b) for b in replacement.revert_blockers(seen.lineage, entry, rows)), *([] if force else lost)]
    if entry.state is State.REVERTED:
        blockers = [f"Lineage entry '{entry_id}' is already REVERTED. Nothing is left to do."]
    reverted = seen.lineage.having(
        lineages.Entry(entry.id, entry.segments_from, entry.segments_to, State.REVERTED, ctx.clock())
    )
    before, after = seen.lineage.visible(seen.ideal.maps), reverted.visible(seen.ideal.maps)
    records, going = _records(ctx, table, {*before, *after}), reverted.hidden() - seen.lineage.pinned()
    return RevertPreview(
        entry_id=entry_id,
        table=table.typed,
        state=entry.state.value,
        allowed=not blockers,
        needs_force=entry.state is State.IN_PROGRESS or bool(lost),
        blockers=blockers,
        before=summarise(records[s] for s in before if s in records),
        after=summarise(records[s] for s in after if s in records),
        deleted_segments=sorted(s for s in entry.segments_to if s in seen.ideal.maps and s in going),
        possible_until_ms=ctx.engine.lineage.rollback_until_ms(ctx, seen, entry, config),
        undo_until_ms=undo_until_ms(ctx, config) if entry.state is State.COMPLETED else None,
        notes=ctx.engine.lineage.warnings(ctx, entry, config),
    )


def summarise(segments: Iterable[SegmentMetadata]) -> SnapshotSummary:
    """Sums over segments."""
    listed = list(segments)
    starts = [m.start_ms for m in listed if m.start_ms is not None]
    ends = [m.end_ms for m in listed if m.end_ms is not None]
    return SnapshotSummary(
        segments=len(listed),
        rows=sum(m.total_docs or 0 for m in listed),
        bytes=sum(m.size_bytes or 0 for m in listed),
        start_ms=min(starts, default=None),
        end_ms=max(ends, default=None),
    )


def _records(ctx: Context, table: TableName, names: Iterable[str]) -> dict[str, SegmentMetadata]:
    wanted: Sequence[str] = list(names)
    nodes = ctx.store.get_many([paths.segment(table.typed, s) for s in wanted])
    return {s: segment_metadata.from_record(n.record) for s, n in zip(wanted, nodes, strict=True) if n and n.record}
