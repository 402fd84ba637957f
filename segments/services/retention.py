"""One retention pass over one table (Pinot's RetentionManager): lineage clean-up, time retention, old files of deleted segments."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote

from segments.domain import lineage as lineages
from segments.domain import retention, segment_metadata
from segments.domain.segment_metadata import SegmentMetadata
from segments.domain.znrecord import ZNRecord
from segments.errors import StateConflict
from segments.gateways.deepstore import DELETED, encode
from segments.names import TableName, split_table_name
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
    return [*remove_aged(ctx, encode(table.raw)), *_stranded_uploads(ctx, table)]


def remove_aged(ctx: Context, folder: str) -> list[str]:
    """Remove files of deleted segments whose time is over from one table's folder (its encoded raw name)."""
    path, now = f"{DELETED}/{folder}", ctx.clock()
    aged = [f for f in ctx.deep_store.files(path) if retention.is_aged(f.name, f.modified_ms, ctx.limits.deleted_segments_days, now)]
    aged = aged[: retention.AGED_BATCH]
    for file in aged:
        ctx.deep_store.delete(f"{path}/{file.name}")
    return [f"Removed {len(aged)} files of deleted segments of {folder} whose time was over."] if aged else []


def remove_aged_of_dropped_tables(ctx: Context) -> list[str]:
    """The same for folders whose table no longer exists, which no table's own pass visits."""
    present = {encode(split_table_name(t)[0]) for t in ctx.store.children(paths.TABLE_CONFIGS)}
    return [s for folder in ctx.deep_store.folders(DELETED) if folder not in present for s in remove_aged(ctx, folder)]


def _stranded_uploads(ctx: Context, table: TableName) -> list[str]:
    """Remove staged files of uploads that died before their record was written; a living upload is never that old."""
    folder, now = encode(table.raw), ctx.clock()
    records = {m.name: m.crc for m in read_segments(ctx, table)}
    stranded = [
        f.name
        for f in ctx.deep_store.files(folder)
        if retention.is_stranded(f.name, f.modified_ms, now)
        and str(records.get(unquote(f.name.split(".tmp.")[0]))) != f.name.split(".tmp.")[1]
    ]
    for name in stranded:
        ctx.deep_store.delete(f"{folder}/{name}")
    return [f"Removed {len(stranded)} files that interrupted uploads to {table} had left."] if stranded else []


def read_segments(ctx: Context, table: TableName) -> list[SegmentMetadata]:
    """All segment records of the table."""
    names: Sequence[str] = ctx.store.children(paths.segments(table.typed))
    nodes = ctx.store.get_many([paths.segment(table.typed, s) for s in names])
    return [segment_metadata.from_record(n.record) for n in nodes if n and n.record]
