"""Read and write a table's lineage record together with the ideal state it speaks of."""

from __future__ import annotations

from dataclasses import dataclass

from segments.domain import lineage as lineages
from segments.domain.lineage import Lineage
from segments.domain.znrecord import ZNRecord
from segments.errors import NotFound
from segments.names import TableName
from segments.services.context import Context
from segments.store import paths
from segments.store.base import Create, Replace, Versioned, Write


@dataclass(frozen=True)
class Observed:
    """Lineage and ideal state as read, each with its version (None: there is no lineage record yet)."""

    lineage: Lineage
    lineage_node: Versioned | None
    ideal: ZNRecord
    ideal_version: int

    def write_lineage(self, after: Lineage) -> Write:
        """The conditional write that makes ``after`` the lineage: create-only for the very first entry (B1)."""
        path, record = paths.lineage(after.table), lineages.to_record(after)
        return Create(path, record) if self.lineage_node is None else Replace(path, record, self.lineage_node.version)


def read_lineage(ctx: Context, table: TableName) -> Lineage | None:
    """The lineage, or None when the table has no record. RecordCorrupt when it can not be read."""
    node = ctx.store.get(paths.lineage(table.typed))
    return lineages.from_record(node.record) if node and node.record else None


def observe(ctx: Context, table: TableName) -> Observed:
    """Read lineage, then ideal state (one round trip, in this order). NotFound when the table does not exist."""
    node, ideal = ctx.store.get_many([paths.lineage(table.typed), paths.ideal_state(table.typed)])
    if ideal is None or ideal.record is None:
        raise table_not_found(table)
    lineage = lineages.from_record(node.record) if node and node.record else lineages.empty(table.typed)
    return Observed(lineage, node, ideal.record, ideal.version)


def table_not_found(table: TableName) -> NotFound:
    """The refusal for an unknown table."""
    return NotFound(f"Table '{table}' does not exist.", remedy="List the tables with GET /tables.")
