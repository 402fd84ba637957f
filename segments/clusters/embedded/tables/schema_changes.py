"""Schemas: create, change compatibly, delete when no table uses them."""

from __future__ import annotations

from typing import Any

from segments.domain.formats.recorded_change import recorded_change
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.tables.edits.document_version import check_version
from segments.domain.tables.edits.schema_rules import check_compatible
from segments.domain.tables.schema import Schema
from segments.services.core.context import Context
from segments.services.tables.schemas import exists_already, parse_stored, require_unused, schema_not_found
from segments.store import paths
from segments.store.base import Delete, Versioned, Write
from segments.store.update import update_record, update_transaction


def create_schema(ctx: Context, schema: Schema, *, override: bool, detail: dict[str, Any]) -> None:
    """Create a schema, or change the existing one when ``override``. StateConflict, InvalidInput."""

    def decide(node: Versioned | None) -> ZNRecord:
        if node is None:
            return schema.to_record()
        if not override:
            raise exists_already(schema.name)
        return _changed(node, schema, detail)

    update_record(ctx.store, paths.schema(schema.name), decide)


def update_schema(ctx: Context, schema: Schema, detail: dict[str, Any], expected: str | None = None) -> None:
    """Change an existing schema: columns may be added only. NotFound, InvalidInput; StateConflict when it is not the
    version ``expected``.
    """
    update_record(ctx.store, paths.schema(schema.name), lambda node: _changed(node, schema, detail, expected))


def delete_schema(ctx: Context, name: str) -> None:
    """Delete a schema that no table uses. NotFound; StateConflict naming the tables."""

    def attempt() -> list[Write]:
        node = ctx.store.get(paths.schema(name))
        if node is None:
            raise schema_not_found(name)
        require_unused(ctx, name)
        return [Delete(paths.schema(name), node.version)]

    update_transaction(ctx.store, attempt)


def _changed(node: Versioned | None, schema: Schema, detail: dict[str, Any], expected: str | None = None) -> ZNRecord:
    before = parse_stored(schema.name, node)
    check_version(f"Schema '{schema.name}'", before.body, expected)
    check_compatible(before, schema)
    detail.update(recorded_change(before.body, schema.body))
    return schema.to_record()
