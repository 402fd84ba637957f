"""The retention pass (Pinot's RetentionManager): time retention, lineage clean-up, pending deletions, old files."""

from __future__ import annotations

from segments.names import TableName
from segments.services.core.context import Context


def run(ctx: Context, table: TableName) -> list[str]:
    """One pass; returns what was done, one plain sentence each. As ``TableEngine.retain``."""
    return ctx.engine.tables.retain(ctx, table)


def remove_aged_of_dropped_tables(ctx: Context) -> list[str]:
    """Old files of deleted segments of tables that no longer exist, which no table's own pass visits."""
    return ctx.engine.tables.retain_dropped(ctx)
