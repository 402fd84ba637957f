"""One retention pass over one table (Pinot's RetentionManager): lineage clean-up, time retention, old files of deleted segments."""

from __future__ import annotations

from collections.abc import Sequence

from segments.domain import lineage as lineages
from segments.domain import retention, segment_metadata
from segments.domain.segment_metadata import SegmentMetadata
from segments.domain.znrecord import ZNRecord
from segments.errors import StateConflict
from segments.gateways.deepstore import DELETED, encode
from segments.names import TableName
from segments.services import deletion
from segments.services.context import SYSTEM, Context
from segments.services.lineage_record import observe
from segments.services.table_record import read_table_config
from segments.store import paths
from segments.store.base import Versioned
from segments.store.update import update_record


def run(ctx: Context, table: TableName) -> list[str]:
    """One pass; returns what was done, one plain sentence each. Order of lineage.md 8: time, lineage, aged files."""
    sentences = [*_by_time(ctx, table), *_by_lineage(ctx, table), *deletion.drain(ctx, table), *_aged_files(ctx, table)]
    return sentences or [f"Nothing of {table} is due."]


def _by_time(ctx: Context, table: TableName) -> list[str]:
    config, seen = read_table_config(ctx, table), observe(ctx, table)
    due = retention.plan_time(config, read_segments(ctx, table), seen.lineage.locked(), ctx.clock())
    due = [s for s in due if s in seen.ideal.maps]
    if not due:
        return []
    try:
        deletion.remove_segments(ctx, table, due, actor=SYSTEM)
    except StateConflict as error:
        return [f"Kept {len(due)} expired segments of {table}: {error.message}"]
    return [f"Deleted {len(due)} segments of {table} older than its retention, e.g. {due[0]}."]


def _by_lineage(ctx: Context, table: TableName) -> list[str]:
    config, seen = read_table_config(ctx, table), observe(ctx, table)
    if seen.lineage_node is None:
        return []
    plan = retention.plan_lineage(seen.lineage, config, seen.ideal.maps, ctx.clock())
    if plan.delete:
        deletion.remove_hidden(ctx, table, plan.delete)
    if plan.drop:
        _drop_entries(ctx, table)
    return list(plan.why)


def _drop_entries(ctx: Context, table: TableName) -> None:
    """Remove spent entries; which they are is decided afresh on every attempt, and an unchanged record is not written."""
    config = read_table_config(ctx, table)

    def decide(node: Versioned | None) -> ZNRecord | None:
        if node is None or node.record is None:
            return None
        lineage = lineages.from_record(node.record)
        plan = retention.plan_lineage(lineage, config, observe(ctx, table).ideal.maps, ctx.clock())
        return lineages.to_record(lineage.having(without=plan.drop)) if plan.drop else None

    update_record(ctx.store, paths.lineage(table.typed), decide)


def _aged_files(ctx: Context, table: TableName) -> list[str]:
    folder, now = f"{DELETED}/{encode(table.raw)}", ctx.clock()
    aged = [f for f in ctx.deep_store.files(folder) if retention.is_aged(f.name, f.modified_ms, ctx.limits.deleted_segments_days, now)]
    aged = aged[: retention.AGED_BATCH]
    for file in aged:
        ctx.deep_store.delete(f"{folder}/{file.name}")
    return [f"Removed {len(aged)} files of deleted segments of {table} whose time was over."] if aged else []


def read_segments(ctx: Context, table: TableName) -> list[SegmentMetadata]:
    """All segment records of the table."""
    names: Sequence[str] = ctx.store.children(paths.segments(table.typed))
    nodes = ctx.store.get_many([paths.segment(table.typed, s) for s in names])
    return [segment_metadata.from_record(n.record) for n in nodes if n and n.record]
