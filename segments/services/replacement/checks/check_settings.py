"""The checks of a table as a document: read, validated against the schema, and written into the table config."""

from __future__ import annotations

import json
from typing import Any

from segments.domain.formats.recorded_change import recorded_change
from segments.domain.replacement.check_document import CHECKS, check_columns, checks_of, parse_checks, to_document
from segments.domain.replacement.checks import CheckPlan, SampleSql
from segments.domain.tables.schema import Schema
from segments.domain.tables.secret_masks import parsed_document
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput
from segments.names import TableName, split_table_name
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.tables.edits.versions import note_config
from segments.services.tables.schemas import read_schema
from segments.services.tables.table_record import read_table_config


def validate_checks(config: TableConfig, schema: Schema) -> CheckPlan:
    """The checks of a config, fit for its schema: columns exist, sample queries can be planned. Raises InvalidInput."""
    plan = checks_of(config)
    check_columns(plan, config, schema)
    for check in plan.checks:
        if isinstance(check, SampleSql):
            _check_sql(check, config, schema)
    return plan


def read_check_document(ctx: Context, table: TableName) -> dict[str, Any]:
    """``{"checks": [...], "timeoutMs": n}`` of a table. Raises NotFound, or InvalidInput when what is stored cannot be
    read.
    """
    return to_document(read_table_config(ctx, table).custom.get(CHECKS))


def write_check_document(ctx: Context, table: TableName, document: Any, *, actor: Actor) -> dict[str, Any]:
    """Make these the table's checks, an empty list for none; returns them as stored. Other keys of the config stay as
    they are.

    Raises InvalidInput naming the field, or NotFound.
    """
    plan = parse_checks(document)
    written = document if isinstance(document, str) else json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    text = written if plan.checks else None

    with audit.recorded(ctx, actor, "updateChecks", table.typed, checks=[c.name for c in plan.checks]) as detail:

        def edit(stored: TableConfig) -> TableConfig:
            config = _with_checks(stored, text)
            validate_checks(config, read_schema(ctx, table.raw))
            detail.update(recorded_change(_readable(stored.custom.get(CHECKS)), _readable(text)))
            return config

        ctx.engine.tables.edit_custom_configs(ctx, table, edit)
        note_config(ctx, table, actor)
    return to_document(text)


def _readable(text: str | None) -> Any:
    """The document that a text spells; the text where it spells none, as one that somebody else wrote."""
    return text and (parsed_document(text) or text)


def _with_checks(config: TableConfig, text: str | None) -> TableConfig:
    metadata = dict(config.body.get("metadata") or {})
    custom = {**(metadata.get("customConfigs") or {}), CHECKS: text}
    metadata["customConfigs"] = {k: v for k, v in custom.items() if v is not None}
    return TableConfig(config.table, {**config.body, "metadata": metadata})


def _check_sql(check: SampleSql, config: TableConfig, schema: Schema) -> None:
    """The query must read this very table, as everything else is not hidden, and be one that the cluster can answer."""
    from segments.dataplane.query import (
        QueryRejected,
        plan_query,
        table_of,
    )  # heavy; only tables with such a check need it

    try:
        raw, kind = split_table_name(table_of(check.sql))
        if raw != config.table.raw or kind not in (None, config.table.type):
            raise InvalidInput(
                f"{CHECKS}: '{check.name}' does not read table '{config.table}'.",
                remedy="Query the table itself.",
                field=check.name,
            )
        plan_query(check.sql, schema)
    except QueryRejected as error:
        raise InvalidInput(f"{CHECKS}: the query of '{check.name}' cannot be run: {error}", field=check.name) from error
