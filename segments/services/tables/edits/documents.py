"""A table's schema and config as they are stored now, with the versions that a change of them names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from segments.domain.tables.edits.document_version import version_of
from segments.domain.tables.secret_masks import mask
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import table_not_found
from segments.services.tables.stored_documents import config_body, schema_body
from segments.store import paths


@dataclass(frozen=True)
class Documents:
    """Both documents of a table, their secrets masked. ``schema`` {}: there is none of the table's name."""

    table: TableName
    config: dict[str, Any]
    schema: dict[str, Any]

    @property
    def config_version(self) -> str:
        """The version of the config alone."""
        return version_of(self.config)

    @property
    def schema_version(self) -> str:
        """The version of the schema alone."""
        return version_of(self.schema)

    @property
    def version(self) -> str:
        """What a change names: both are as they were read."""
        return f"{self.config_version}-{self.schema_version}"


def read_documents(ctx: Context, table: TableName) -> Documents:
    """As they are now. NotFound when there is no such table."""
    config, schema = ctx.store.get_many([paths.table_config(table.typed), paths.schema(table.raw)])
    if config is None or config.record is None:
        raise table_not_found(table)
    shown: dict[str, Any] = mask(config_body(config.record))
    return Documents(table, shown, mask(schema_body(schema.record)) if schema and schema.record else {})
