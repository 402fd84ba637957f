"""Snapshots: queries on exactly the named segments and what their columns hold, on a real Pinot."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from segments.clusters.pinot.columns import PinotColumns
from segments.names import TableName, split_table_name
from segments.services.core.context import Context
from segments.services.engine.snapshots import ProfileReader, SnapshotReader


class PinotSnapshotEngine:
    """``segments.services.engine.snapshots.SnapshotEngine`` on a real Pinot."""

    def open(self, ctx: Context, typed: str) -> AbstractContextManager[SnapshotReader]:
        """Files are fetched through the controller and read here."""
        from segments.services.queries.file_reader import (  # heavy; only who reads files needs it
            FileReader,
            served_files,
        )

        raw, kind = split_table_name(typed)
        table = TableName(raw, kind or "OFFLINE")
        return FileReader(ctx, table, served_files(ctx, table))

    def columns(
        self, ctx: Context, table: TableName, wanted: Sequence[Sequence[str]], read_profile: ProfileReader | None
    ) -> PinotColumns:
        """The controller is asked."""
        return PinotColumns(ctx, table, *wanted)
