"""Schemas: create, read, change compatibly, delete when no table uses them."""

from __future__ import annotations

from typing import Any

from segments.clusters.pinot import tables as pinot_tables
from segments.domain.formats.recorded_change import recorded_change
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.tables import schema as schemas
from segments.domain.tables.schema import Schema
from segments.errors import InvalidInput, NotFound, RecordCorrupt, StateConflict
from segments.names import TABLE_TYPES
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.store import paths
from segments.store.base import Delete, Versioned, Write
from segments.store.update import update_record, update_transaction


def list_schemas(ctx: Context) -> list[str]:
    """Names of all schemas, sorted."""
    return ctx.store.children(paths.SCHEMAS)


def read_schema(ctx: Context, name: str) -> Schema:
    """The schema. NotFound when there is none, RecordCorrupt when it can not be read."""
    return _parse(name, ctx.store.get(paths.schema(name)))


def create_schema(ctx: Context, body: Any, *, override: bool, actor: Actor) -> Schema:
    """Create a schema, or change the existing one when ``override``. Raises InvalidInput, or StateConflict when it
    exists.
    """
    if ctx.pinot is not None:
        return pinot_tables.create_schema(ctx, body, override=override, actor=actor)
    schema, before = schemas.new_schema(body), _Before()

    def decide(node: Versioned | None) -> ZNRecord:
        if node is not None and not override:
            raise StateConflict(f"Schema '{schema.name}' exists already.", remedy="Send override=true to change it.")
        if node is not None:
            schemas.check_compatible(before.read(schema.name, node), schema)
        return schema.to_record()

    update_record(ctx.store, paths.schema(schema.name), decide)
    change = before.change_to(schema) if before.schema else {}
    audit.record(actor, "createSchema", cluster=ctx.cluster, target=schema.name, columns=len(schema.fields), **change)
    return schema


def update_schema(ctx: Context, name: str, body: Any, *, actor: Actor) -> Schema:
    """Change an existing schema: columns may be added only. Raises NotFound or InvalidInput."""
    if ctx.pinot is not None:
        return pinot_tables.update_schema(ctx, name, body, actor=actor)
    schema = schemas.new_schema(body)
    if schema.name != name:
        raise InvalidInput(
            f"The body is schema '{schema.name}', the address names '{name}'.", remedy="Make them the same."
        )
    before = _Before()

    def decide(node: Versioned | None) -> ZNRecord:
        schemas.check_compatible(before.read(name, node), schema)
        return schema.to_record()

    update_record(ctx.store, paths.schema(name), decide)
    audit.record(
        actor, "updateSchema", cluster=ctx.cluster, target=name, columns=len(schema.fields), **before.change_to(schema)
    )
    return schema


def delete_schema(ctx: Context, name: str, *, actor: Actor) -> None:
    """Delete a schema that no table uses. Raises NotFound, or StateConflict naming the tables."""
    if ctx.pinot is not None:
        pinot_tables.delete_schema(ctx, name, actor=actor)
        return

    def attempt() -> list[Write]:
        node = ctx.store.get(paths.schema(name))
        if node is None:
            raise _not_found(name)
        users = [
            t for t in (f"{name}_{kind}" for kind in TABLE_TYPES) if ctx.store.exists(paths.table_config(t)) is not None
        ]
        if users:
            raise StateConflict(
                f"Schema '{name}' is used by table {', '.join(users)}.", remedy="Delete the table first.", tables=users
            )
        return [Delete(paths.schema(name), node.version)]

    update_transaction(ctx.store, attempt)
    audit.record(actor, "deleteSchema", cluster=ctx.cluster, target=name)


class _Before:
    """The schema that a change was decided on, of its last attempt."""

    def __init__(self) -> None:
        self.schema: Schema | None = None

    def read(self, name: str, node: Versioned | None) -> Schema:
        self.schema = _parse(name, node)
        return self.schema

    def change_to(self, after: Schema) -> dict[str, Any]:
        return recorded_change(self.schema.body if self.schema else None, after.body)


def _parse(name: str, node: Versioned | None) -> Schema:
    if node is None or node.record is None:
        raise _not_found(name)
    try:
        return schemas.from_record(node.record)
    except (ValueError, KeyError, InvalidInput) as error:
        raise RecordCorrupt(f"Schema '{name}' can not be read: {error}") from error


def _not_found(name: str) -> NotFound:
    return NotFound(f"Schema '{name}' does not exist.", remedy="List the schemas with GET /schemas.")
