"""Snapshots: queries on exactly the named segments and what their columns hold, on the embedded cluster."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from segments.clusters.embedded.columns import ServerColumns
from segments.clusters.embedded.connected_engine import connected
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.engine.snapshots import ProfileReader, SnapshotReader


class EmbeddedSnapshotEngine:
    """``segments.services.engine.snapshots.SnapshotEngine`` on the embedded cluster."""

    def open(self, ctx: Context, typed: str) -> AbstractContextManager[SnapshotReader]:
        """The servers answer."""
        return connected(ctx).read_snapshots(typed)

    def columns(
        self, ctx: Context, table: TableName, wanted: Sequence[Sequence[str]], read_profile: ProfileReader | None
    ) -> ServerColumns:
        """Servers are asked."""
        return ServerColumns(ctx, table, read_profile)
