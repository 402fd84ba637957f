"""Schemas: create, read, change compatibly, delete when no table uses them."""

from __future__ import annotations

from typing import Any

from segments.domain.tables import schema as schemas
from segments.domain.tables.schema import Schema
from segments.errors import InvalidInput, NotFound, RecordCorrupt, StateConflict
from segments.names import TABLE_TYPES
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.tables.edits import versions
from segments.store import paths
from segments.store.base import Versioned


def list_schemas(ctx: Context) -> list[str]:
    """Names of all schemas, sorted."""
    return ctx.store.children(paths.SCHEMAS)


def read_schema(ctx: Context, name: str) -> Schema:
    """The schema. NotFound when there is none, RecordCorrupt when it cannot be read."""
    return parse_stored(name, ctx.store.get(paths.schema(name)))


def create_schema(ctx: Context, body: Any, *, override: bool, actor: Actor) -> Schema:
    """Create a schema, or change the existing one when ``override``. Raises InvalidInput, or StateConflict when it
    exists.
    """
    schema = schemas.new_schema(body)
    with audit.recorded(ctx, actor, "createSchema", schema.name, columns=len(schema.fields)) as detail:
        ctx.engine.tables.create_schema(ctx, schema, override=override, detail=detail)
        versions.note_schema(ctx, schema.name, actor, is_new="before" not in detail)
    return schema


def update_schema(ctx: Context, name: str, body: Any, *, actor: Actor, expected: str | None = None) -> Schema:
    """Change an existing schema: columns may be added only. It becomes a version of its history. Raises NotFound or
    InvalidInput, StateConflict when it is not the version ``expected``.
    """
    schema = schemas.new_schema(body)
    if schema.name != name:
        raise InvalidInput(
            f"The body is schema '{schema.name}', the address names '{name}'.", remedy="Make them the same."
        )
    with audit.recorded(ctx, actor, "updateSchema", name, columns=len(schema.fields)) as detail:
        ctx.engine.tables.update_schema(ctx, schema, detail, expected)
        versions.note_schema(ctx, name, actor)
    return schema


def delete_schema(ctx: Context, name: str, *, actor: Actor) -> None:
    """Delete a schema that no table uses. Raises NotFound, or StateConflict naming the tables."""
    with audit.recorded(ctx, actor, "deleteSchema", name):
        ctx.engine.tables.delete_schema(ctx, name)
        versions.note(ctx, "schema", name, None, actor)


def require_unused(ctx: Context, name: str) -> None:
    """StateConflict naming the tables that use the schema now."""
    typed = [f"{name}_{kind}" for kind in TABLE_TYPES]
    users = [t for t in typed if ctx.store.exists(paths.table_config(t)) is not None]
    if users:
        raise StateConflict(
            f"Schema '{name}' is used by table {', '.join(users)}.", remedy="Delete the table first.", tables=users
        )


def exists_already(name: str) -> StateConflict:
    """To raise for a schema that is to be created, and there."""
    return StateConflict(f"Schema '{name}' exists already.", remedy="Send override=true to change it.")


def parse_stored(name: str, node: Versioned | None) -> Schema:
    """The schema in its node. NotFound when there is none, RecordCorrupt when it cannot be read."""
    if node is None or node.record is None:
        raise schema_not_found(name)
    try:
        return schemas.from_record(node.record)
    except (ValueError, KeyError, InvalidInput) as error:
        raise RecordCorrupt(f"Schema '{name}' cannot be read: {error}") from error


def schema_not_found(name: str) -> NotFound:
    """To raise where there is no schema of that name."""
    return NotFound(f"Schema '{name}' does not exist.", remedy="List the schemas with GET /schemas.")
