"""Pushes: the steps of one that differ by kind of cluster, on the embedded cluster."""

from __future__ import annotations

from collections.abc import Sequence

from segments.clusters.embedded import push
from segments.domain.tables.table_config import TableConfig
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.loading.load import Load
from segments.spark.build_part import Built


class EmbeddedPushEngine:
    """``segments.services.engine.push.PushEngine`` on the embedded cluster."""

    def start_forces_cleanup(
        self, ctx: Context, config: TableConfig, segments_from: Sequence[str], segments_to: Sequence[str]
    ) -> bool:
        """Always."""
        return True

    def register(self, load: Load, table: TableName, actor: Actor, built: Sequence[Built]) -> None:
        """Files to their places, then records and rows."""
        push.register(load, table, actor, built)

    def find_entry(self, load: Load, table: TableName) -> None:
        """The load chose its id."""
