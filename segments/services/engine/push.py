"""Loads of built segments (pushes, file ingestion sessions): the steps that differ by kind of cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from segments.domain.tables.table_config import TableConfig
    from segments.names import TableName
    from segments.services.core.context import Actor, Context
    from segments.services.loading.load import Load
    from segments.spark.build_part import Built


class PushEngine(Protocol):
    """Pushes: the steps of one that differ by kind of cluster."""

    def start_forces_cleanup(
        self, ctx: Context, config: TableConfig, segments_from: Sequence[str], segments_to: Sequence[str]
    ) -> bool:
        """Does the start of a push that replaces all clean up first? Embedded: always. Pinot: only to clear a push that
        was left unfinished, or room under the table's quota, because it deletes the snapshot before the present one at
        once (rule `previous-snapshots-kept`).
        """

    def register(self, load: Load, table: TableName, actor: Actor, built: Sequence[Built]) -> None:
        """Register what is not registered yet with the same content, and write down the progress. StateConflict when
        the lineage entry is no longer IN_PROGRESS. Embedded: staged files are moved to their places. Pinot: sent by
        tar, or by metadata where its deep store is ours to fill; staged files stay until the load is over.
        """

    def find_entry(self, load: Load, table: TableName) -> None:
        """Learn the id of the load's entry if its start arrived and the answer was lost. Embedded: it is known, the
        load chose it. Pinot: it is found by our record of the start.
        """
