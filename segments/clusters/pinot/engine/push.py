"""Pushes: the steps of one that differ by kind of cluster, on a real Pinot."""

from __future__ import annotations

from collections.abc import Sequence

from segments.clusters.pinot import push
from segments.domain.tables.table_config import TableConfig
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.loading.load import Load
from segments.spark.build_part import Built


class PinotPushEngine:
    """``segments.services.engine.push.PushEngine`` on a real Pinot."""

    def start_forces_cleanup(
        self, ctx: Context, config: TableConfig, segments_from: Sequence[str], segments_to: Sequence[str]
    ) -> bool:
        """Where something is in the way."""
        return push.needs_cleanup(ctx, config, segments_from, segments_to)

    def register(self, load: Load, table: TableName, actor: Actor, built: Sequence[Built]) -> None:
        """By tar or metadata."""
        push.register(load, table, actor, built)

    def find_entry(self, load: Load, table: TableName) -> None:
        """By our record of the start."""
        push.find_entry(load, table)
