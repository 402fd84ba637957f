"""Read a table's config from its znode."""

from __future__ import annotations

from segments.domain.tables import table_config
from segments.domain.tables.table_config import TableConfig
from segments.errors import StateConflict
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import table_not_found
from segments.store import paths


def read_table_config(ctx: Context, table: TableName) -> TableConfig:
    """The config. NotFound when the table does not exist, RecordCorrupt when it cannot be read."""
    found = find_table_config(ctx, table)
    if found is None:
        raise table_not_found(table)
    return found


def find_table_config(ctx: Context, table: TableName) -> TableConfig | None:
    """The config; None when the table does not exist. RecordCorrupt when it cannot be read."""
    node = ctx.store.get(paths.table_config(table.typed))
    return table_config.from_record(node.record) if node is not None and node.record is not None else None


def table_exists(table: TableName) -> StateConflict:
    """The refusal to create a table that is there."""
    return StateConflict(
        f"Table '{table}' exists already.",
        remedy=f"Choose another name, or change that table: PUT /tables/{table.raw}.",
    )
