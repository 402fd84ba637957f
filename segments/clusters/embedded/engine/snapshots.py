"""Snapshots: queries on exactly the named segments and what their columns hold, on the embedded cluster."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from segments.clusters.embedded.columns import ServerColumns
from segments.names import TableName
from segments.services.core.context import Context, SnapshotReader
from segments.services.engine.snapshots import ProfileReader


class EmbeddedSnapshotEngine:
    """``segments.services.engine.snapshots.SnapshotEngine`` on the embedded cluster."""

    def open(self, ctx: Context, typed: str) -> AbstractContextManager[SnapshotReader] | None:
        """The servers answer, through the reader that the context has."""
        return ctx.snapshots(typed) if ctx.snapshots is not None else None

    def columns(
        self, ctx: Context, table: TableName, wanted: Sequence[Sequence[str]], read_profile: ProfileReader | None
    ) -> ServerColumns:
        """Servers are asked."""
        return ServerColumns(ctx, table, read_profile)
