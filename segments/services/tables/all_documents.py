"""All documents of one table, checked together before any is there: the schema, and the configs of its types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from segments.domain.tables.schema import Schema, new_schema
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput
from segments.names import check_raw_table_name, shown
from segments.services.core.context import Context
from segments.services.schedules.task_check import refuse_wrong_task
from segments.services.tables.table_secrets import secrets_masked_in_errors, with_stored_secrets


@dataclass(frozen=True)
class AllDocuments:
    """As somebody gives them; ``configs`` by type, None: there is none of it."""

    table: str
    schema: Mapping[str, Any] | None
    configs: Mapping[str, Mapping[str, Any] | None]


@dataclass(frozen=True)
class CheckedDocuments:
    """As understood; ``configs`` by type."""

    schema: Schema
    configs: Mapping[str, TableConfig]


def validate_documents(ctx: Context, given: AllDocuments) -> CheckedDocuments:
    """Check that they belong together and could be written; writes nothing. Raises InvalidInput."""
    if not given.table:
        raise InvalidInput("'tableName' is missing.", remedy="Name the table without its type.", field="tableName")
    name = check_raw_table_name(given.table)
    if given.schema is None:
        raise InvalidInput(f"Table '{name}' has no 'schema'.", remedy="Give its schema.", field="schema")
    if not any(given.configs.values()):
        raise InvalidInput(
            f"Table '{name}' has neither 'offline' nor 'realtime'.", remedy="Give one of the configs, or both."
        )
    schema = new_schema(dict(given.schema))
    _require_name(name, "schemaName", schema.name)
    configs = {
        kind: _checked(ctx, name, kind, body, schema) for kind, body in given.configs.items() if body is not None
    }
    times = {config.time_column for config in configs.values()}
    if len(configs) > 1 and (len(times) > 1 or None in times):
        raise InvalidInput(
            f"The two types of table '{name}' have different time columns, or none.",
            remedy="Give both the same segmentsConfig.timeColumnName: it says where one ends and the other begins.",
            field="realtime.segmentsConfig.timeColumnName",
        )
    return CheckedDocuments(schema, configs)


def _checked(ctx: Context, name: str, kind: str, given: Mapping[str, Any], schema: Schema) -> TableConfig:
    body = with_stored_secrets(ctx, dict(given))
    with secrets_masked_in_errors(body):
        config = ctx.engine.tables.parse_config(body)
        _require_name(name, f"{kind.lower()}.tableName", config.table.raw)
        if config.table.type != kind:
            raise InvalidInput(
                f"'{kind.lower()}' is the config of a {config.table.type} table.",
                remedy=f"Give it as '{config.table.type.lower()}'.",
                field=f"{kind.lower()}.tableType",
            )
        refuse_wrong_task(ctx, config, is_change=False)
        ctx.engine.tables.validate_config(ctx, config, schema)
    return config


def _require_name(name: str, field: str, found: str) -> None:
    if found != name:
        raise InvalidInput(
            f"'{field}' is '{shown(found)}', and 'tableName' is '{shown(name)}'.",
            remedy="Give both the same name.",
            field=field,
        )
