"""An earlier version of a table's config or schema as a change of the present one."""

from __future__ import annotations

from typing import Any

from segments.errors import StateConflict
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.tables.edits.versions import body_of, version_row


def edit_of(ctx: Context, table: TableName, key: int) -> dict[str, Any]:
    """``{"config": ...}`` or ``{"schema": ...}`` of the version with this id. NotFound; StateConflict for one that only
    says that it was deleted.
    """
    row = version_row(ctx, table, key)
    body = body_of(row)
    if body is None:
        raise StateConflict(
            f"Version {row.number} of the {row.document} says that it was deleted.", remedy="Choose the one before it."
        )
    return {row.document: body}
