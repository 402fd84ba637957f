"""Enable and disable a whole table: Helix's flag in its ideal state (storage-zk.md 1.4)."""

from __future__ import annotations

from segments.domain.pause import is_disabled
from segments.domain.znrecord import ZNRecord
from segments.names import TableName
from segments.services import audit, pinot_tables
from segments.services.context import Actor, Context
from segments.services.lineage_record import table_not_found
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
