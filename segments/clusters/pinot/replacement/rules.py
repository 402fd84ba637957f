"""What the rules of a cluster say of a lineage entry: ours on the own cluster, those of Pinot's version on a Pinot
cluster.
"""

from __future__ import annotations

from segments.clusters.pinot.calls import version
from segments.clusters.pinot.segments.kept_copies import keeps_copies
from segments.domain.pinot import cleanup as pinot_cleanup
from segments.domain.replacement.lineage import Entry
from segments.domain.tables.table_config import TableConfig
from segments.domain.upkeep.retention import deleted_kept_ms, rollback_deadline_ms
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import Observed
from segments.services.upkeep.schedules import RETENTION, next_run_ms


def rollback_until_ms(ctx: Context, seen: Observed, entry: Entry, config: TableConfig) -> int | None:
    """Until when (epoch ms) a COMPLETED entry can be taken back as far as clean-ups go; None: none ends it, or it is
    not known when.
    """
    if ctx.pinot is None:
        return rollback_deadline_ms(seen.lineage, entry, config, seen.ideal.maps, ctx.clock(), next_run_ms(RETENTION))
    return pinot_cleanup.rollback_until_ms(entry, config, version(ctx))


def undo_kept_ms(ctx: Context, config: TableConfig) -> int:
    """How long (ms) what a rollback deletes now is kept, so that it can be undone; 0: not at all."""
    kept = deleted_kept_ms(config.deleted_retention, ctx.limits.deleted_segments_days)
    is_kept = ctx.deep_store.exists and (ctx.pinot is None or keeps_copies(config))
    return kept if is_kept else 0


def undo_until_ms(ctx: Context, config: TableConfig) -> int | None:
    """Until when (epoch ms) a rollback that is done now can be undone; None: not at all, no files are kept of what it
    deletes.
    """
    kept = undo_kept_ms(ctx, config)
    return ctx.clock() + kept if kept > 0 else None


def warnings(ctx: Context, entry: Entry, config: TableConfig) -> list[str]:
    """What the cluster will do to the entry's segments though nobody asks for it here; nothing on our own cluster."""
    return pinot_cleanup.warnings(entry, config, version(ctx)) if ctx.pinot is not None else []
