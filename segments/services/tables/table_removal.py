"""Drop a table and leave nothing behind: out of routing, out of the ideal state, then files and records, the config
last.

The config goes last so that a drop that was cut short is finished by asking again, and no new table takes the name
before (rule `record-goes-last`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from segments.clusters.pinot import tables as pinot_tables
from segments.domain.replacement.lineage import Lineage
from segments.domain.upkeep import retention as rules
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.replacement.lineage_record import read_lineage
from segments.services.replacement.undo.past_entries import keep_entries
from segments.services.segments import archive, last_copies
from segments.services.segments.deletion_queue import Pending
from segments.services.set_aside import keeping as set_aside
from segments.services.tables.table_record import read_table_config
from segments.services.tables.tables import remove_broker_row
from segments.store import paths

#: Seconds that live servers get to let go of the table's segments; then their view is removed for them.
_LET_GO_S: Final = 8.0
_LOOK_S: Final = 0.01


def delete_table(
    ctx: Context, table: TableName, *, retention: str | None = None, force: bool = False, actor: Actor
) -> None:
    """Drop the table. Files are kept for ``retention``, the table's or the cluster's time, as those of deleted segments
    are.

    Segments that only servers have are copied into the deep store first; StateConflict where that fails, and nothing is
    dropped, unless ``force`` and a reason say that they may be lost. NotFound when the table does not exist;
    InvalidInput for a retention that is none.
    """
    rules.check_retention(retention)
    last_copies.check_force(force, actor)
    if ctx.pinot is not None:
        pinot_tables.delete_table(ctx, table, retention=retention, actor=actor)
        return
    term = retention if retention is not None else read_table_config(ctx, table).deleted_retention
    segments = _names(ctx, table)
    failed = last_copies.copy_to_store(ctx, table, segments)
    if failed and not force:
        raise last_copies.lost(table, failed)
    remove_broker_row(ctx, table)
    ctx.store.delete(paths.ideal_state(table.typed))
    _wait_until_released(ctx, table)
    ctx.store.delete(paths.pending_deletions(table.typed))
    _put_files_away(ctx, table, segments, term, actor)
    keep_entries(ctx, table, (read_lineage(ctx, table) or Lineage(table.typed)).entries.values())
    for path in (
        paths.segments,
        paths.lineage,
        paths.routing_acks,
        paths.upload_locks,
        paths.check_reports,
        paths.external_view,
    ):
        ctx.store.delete_tree(path(table.typed))
    ctx.store.delete_tree(paths.completions(table.typed))
    ctx.store.delete(paths.data_loss(table.typed))
    set_aside.forget_table(ctx.cluster, table)
    ctx.store.delete_tree(f"{paths.MINION_TASK_METADATA}/{table.typed}")
    ctx.store.delete(paths.table_config(table.typed))
    audit.record(actor, "deleteTable", cluster=ctx.cluster, target=table.typed, segments=len(segments))


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
        ctx.timer.pause(_LOOK_S)


def _put_files_away(ctx: Context, table: TableName, segments: Sequence[str], term: str | None, actor: Actor) -> None:
    """Keep files and records as those of deleted segments: a table made again under this name can have
    them restored.
    """
    now, nodes = ctx.clock(), ctx.store.get_many([paths.segment(table.typed, s) for s in segments])
    items = [Pending(s, now, by=actor.name, reason=actor.reason or "The table was dropped.") for s in segments]
    records = [node.record if node else None for node in nodes]
    archive.in_parallel(
        lambda one: archive.put_away(ctx, table, one[0], one[1], term), zip(items, records, strict=True)
    )
