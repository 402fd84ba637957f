"""Staged tars in the deep store: where they wait for their record, and whether they are there."""

from __future__ import annotations

from segments.names import TableName
from segments.services.core.context import Context
from segments.services.segments.upload_files import staged_path
from segments.spark.build_part import Built, tar_path


def staged_and_place(ctx: Context, table: TableName, one: Built) -> tuple[str, str]:
    """Where a built tar waits for its record, and where it is at rest: the same in a remote store."""
    return staged_path(ctx, table, one.name, one.crc), ctx.deep_store.file_path(table.raw, one.name, one.crc)


def is_there(ctx: Context, table: TableName, load_id: str, one: Built) -> bool:
    """Whether a built segment's tar is in the deep store, whole: staged, or already at its place."""
    places = (tar_path(load_id, one.ordinal), *staged_and_place(ctx, table, one))
    return any(ctx.deep_store.size(p) == one.size_bytes for p in places)
