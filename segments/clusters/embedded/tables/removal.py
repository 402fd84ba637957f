"""Drop a table and leave nothing behind: out of routing, out of the ideal state, then files and records, the config
last.

The config goes last so that a drop that was cut short is finished by asking again, and no new table takes the name
before (rule `record-goes-last`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from segments.clusters.embedded.segments import copies_before_deletion
from segments.clusters.embedded.tables.broker_rows import remove_broker_row
from segments.domain.replacement.lineage import Lineage
from segments.domain.segments.pending_deletion import Pending
from segments.names import OFFLINE, TableName
from segments.services.core.context import Actor, Context
from segments.services.ingestion import session_store
from segments.services.replacement.lineage_record import read_lineage
from segments.services.replacement.undo.kept_entries import keep_entries
from segments.services.segments import archive
from segments.services.set_aside import keeping as set_aside
from segments.services.tables.table_record import read_table_config
from segments.store import paths

#: Seconds that live servers get to let go of the table's segments; then their view is removed for them.
_LET_GO_S: Final = 8.0
_POLL_S: Final = 0.01


def delete_table(
    ctx: Context, table: TableName, *, retention: str | None, force: bool, actor: Actor, detail: dict[str, Any]
) -> None:
    """Drop the table. Segments that only servers have are copied into the deep store first.

    StateConflict where that fails, and nothing is dropped, unless ``force``. NotFound when the table does not exist.
    """
    term = retention if retention is not None else read_table_config(ctx, table).deleted_retention
    segments = _names(ctx, table)
    failed = copies_before_deletion.copy_to_store(ctx, table, segments)
    if failed and not force:
        raise copies_before_deletion.lost(table, failed)
    remove_broker_row(ctx, table)
    ctx.store.delete(paths.ideal_state(table.typed))
    _wait_until_released(ctx, table)
    ctx.store.delete(paths.pending_deletions(table.typed))
    _archive_files(ctx, table, segments, term, actor)
    _remove_records(ctx, table)
    ctx.store.delete(paths.table_config(table.typed))
    detail["segments"] = len(segments)


def _remove_records(ctx: Context, table: TableName) -> None:
    """Everything that is kept of the table but its config; what its lineage says is kept for restores."""
    keep_entries(ctx, table, (read_lineage(ctx, table) or Lineage(table.typed)).entries.values())
    for path in (
        paths.segments,
        paths.lineage,
        paths.routing_acks,
        paths.upload_locks,
        paths.check_reports,
        paths.external_view,
        paths.rebalances,
        paths.completions,
        paths.committing,
        paths.reingestions,
    ):
        ctx.store.delete_tree(path(table.typed))
    ctx.store.delete(paths.data_loss(table.typed))
    ctx.store.delete(paths.reset_tries(table.typed))
    set_aside.forget_table(ctx.cluster, table)
    if table.type == OFFLINE:
        session_store.remove_files(ctx, table)
    ctx.store.delete_tree(f"{paths.MINION_TASK_METADATA}/{table.typed}")


def _names(ctx: Context, table: TableName) -> list[str]:
    """Every segment that has a row, a record or a pending deletion."""
    ideal, queue = ctx.store.get(paths.ideal_state(table.typed)), ctx.store.get(paths.pending_deletions(table.typed))
    names = set(ctx.store.children(paths.segments(table.typed)))
    for node in (ideal, queue):
        names |= set(node.record.maps if node and node.record else ())
    return sorted(names)


def _wait_until_released(ctx: Context, table: TableName) -> None:
    """Until no live server reports a segment of the table; a removed view would otherwise be written again."""
    deadline = ctx.timer.seconds() + _LET_GO_S
    while ctx.timer.seconds() < deadline:
        view = ctx.store.get(paths.external_view(table.typed))
        rows = view.record.maps.values() if view and view.record else ()
        if not {i for row in rows for i in row} & set(ctx.store.children(paths.LIVE_INSTANCES)):
            return
        ctx.timer.pause(_POLL_S)


def _archive_files(ctx: Context, table: TableName, segments: Sequence[str], term: str | None, actor: Actor) -> None:
    """Keep files and records as those of deleted segments: a table made again under this name can have
    them restored.
    """
    now, nodes = ctx.clock(), ctx.store.get_many([paths.segment(table.typed, s) for s in segments])
    items = [Pending(s, now, by=actor.name, reason=actor.reason or "The table was dropped.") for s in segments]
    records = [node.record if node else None for node in nodes]
    archive.in_parallel(
        lambda one: archive.archive_segment(ctx, table, one[0], one[1], term), zip(items, records, strict=True)
    )
