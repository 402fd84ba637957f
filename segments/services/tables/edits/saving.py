"""Saves a change of a table's schema and config, on the version that it was made from."""

from __future__ import annotations

from typing import Any

from segments.domain.tables.edits.document_version import version_of
from segments.errors import InvalidInput, PinotAdminError, StateConflict
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.tables import schemas, tables
from segments.services.tables.edits.documents import Documents, read_documents
from segments.services.tables.edits.preview import EditPreview, preview_edit
from segments.services.tables.edits.versions import history_of


def save_edit(
    ctx: Context, table: TableName, *, config: Any = None, schema: Any = None, expected: str, actor: Actor
) -> EditPreview:
    """Make these the table's documents, None: it stays, if both are still the version ``expected``; the schema first.
    What was done.

    StateConflict when somebody changed one of them since, or it cannot be done now; InvalidInput for the first thing
    that is wrong, its ``field`` says where, or when nothing differs. NotFound.
    """
    found = preview_edit(ctx, table, config, schema)
    if found.before.version != expected:
        raise changed_meanwhile(ctx, found.before)
    for refusal in found.refusals:
        error = StateConflict if refusal.is_conflict else InvalidInput
        raise error(refusal.problem, remedy=refusal.remedy, field=refusal.field)
    if not (found.changes_schema or found.changes_config):
        raise InvalidInput("Nothing differs from what is stored.", remedy="Change something first.")
    if found.changes_schema:
        _write_schema(ctx, found, actor)
    if found.changes_config:
        _write_config(ctx, found, actor)
    return found


def changed_meanwhile(ctx: Context, now: Documents) -> StateConflict:
    """To raise for a change that was made from another version than the present one; says whose it is."""
    newest = history_of(ctx, now.table).first()
    by = f" by {newest.actor}" if newest is not None and newest.actor else ""
    return StateConflict(
        f"The settings of table '{now.table}' were changed{by} since you read them.",
        remedy="Read them again, and make your change to what is there now.",
        field="version",
        version=now.version,
    )


def _write_schema(ctx: Context, found: EditPreview, actor: Actor) -> None:
    name = found.before.table.raw
    if not found.before.schema:
        schemas.create_schema(ctx, found.schema, override=False, actor=actor)
        return
    schemas.update_schema(ctx, name, found.schema, actor=actor, expected=found.before.schema_version)


def _write_config(ctx: Context, found: EditPreview, actor: Actor) -> None:
    table, expected = found.before.table, found.before.config_version
    try:
        tables.update_table(ctx, table.typed, found.config, actor=actor, expected=expected)
    except PinotAdminError as error:
        if found.changes_schema and version_of(read_documents(ctx, table).schema) != found.before.schema_version:
            error.message = f"The schema is saved, the table config is not: {error.message}"
            error.args = (error.message,)
        raise
