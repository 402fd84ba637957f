"""Enable and disable a whole table: Helix's flag in its ideal state (rule `pinot-layout`)."""

from __future__ import annotations

from segments.clusters.pinot import tables as pinot_tables
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.pause import is_disabled
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.replacement.lineage_record import table_not_found
from segments.store import paths
from segments.store.base import Versioned
from segments.store.update import update_record


def is_table_enabled(ctx: Context, table: TableName) -> bool:
    """Is it? NotFound when there is no such table."""
    node = ctx.store.get(paths.ideal_state(table.typed))
    if node is None or node.record is None:
        raise table_not_found(table)
    return not is_disabled(node.record)


def set_table_enabled(ctx: Context, table: TableName, enabled: bool, *, actor: Actor) -> None:
    """Set the flag. NotFound when there is no such table."""
    if ctx.pinot is not None:
        pinot_tables.set_table_enabled(ctx, table, enabled, actor=actor)
        return

    def decide(node: Versioned | None) -> ZNRecord:
        if node is None or node.record is None:
            raise table_not_found(table)
        return node.record.with_simple(HELIX_ENABLED=None if enabled else "false")

    update_record(ctx.store, paths.ideal_state(table.typed), decide)
    audit.record(actor, "enableTable" if enabled else "disableTable", cluster=ctx.cluster, target=table.typed)
