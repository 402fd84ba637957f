"""Until when a rollback that is done now can be undone: as long as files of what it deletes are kept."""

from __future__ import annotations

from segments.domain.tables.table_config import TableConfig
from segments.domain.upkeep.retention import deleted_kept_ms
from segments.services.core.context import Context


def undo_kept_ms(ctx: Context, config: TableConfig) -> int:
    """How long (ms) what a rollback deletes now is kept, so that it can be undone; 0: not at all."""
    kept = deleted_kept_ms(config.deleted_retention, ctx.limits.deleted_segments_days)
    return kept if ctx.deep_store.exists and ctx.engine.lineage.keeps_deleted(ctx, config) else 0


def undo_until_ms(ctx: Context, config: TableConfig) -> int | None:
    """Until when (epoch ms) a rollback that is done now can be undone; None: not at all."""
    kept = undo_kept_ms(ctx, config)
    return ctx.clock() + kept if kept > 0 else None
