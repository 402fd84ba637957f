"""Passes over consumption (Pinot's RealtimeSegmentValidationManager): find what is wrong, repair what is safe, report
both.
"""

from __future__ import annotations

from segments.names import REALTIME, TableName
from segments.services.core.context import Context


def run(ctx: Context, table: TableName) -> list[str]:
    """The whole pass over one REALTIME table; a sentence per repair and finding."""
    return [*repair_consumption(ctx, table), *keep_copies(ctx, table)]


def repair_consumption(ctx: Context, table: TableName) -> list[str]:
    """All of it that works without a deep store."""
    return ctx.engine.consumption.repair(ctx, table) if table.type == REALTIME else []


def keep_copies(ctx: Context, table: TableName) -> list[str]:
    """What needs the deep store: segments that only servers have are copied there, uploads that nobody committed go."""
    return ctx.engine.consumption.keep_copies(ctx, table) if table.type == REALTIME else []


def keep_consumption(ctx: Context) -> list[str]:
    """The quick pass of every few seconds over all tables: planned ends, pauses and force commits that are not
    complete.
    """
    return ctx.engine.consumption.keep(ctx)
