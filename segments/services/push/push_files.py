"""Files of a push in the deep store: which are there, and removing what nobody needs any more."""

from __future__ import annotations

from segments.domain.segments import segment_metadata
from segments.gateways.deep_store.deepstore import STAGING
from segments.names import OFFLINE, TableName
from segments.services.core.context import Context
from segments.services.push.push_session import Session
from segments.services.segments.upload_files import staged_path
from segments.spark.build_part import Built, tar_path
from segments.store import paths


def staged_and_place(ctx: Context, table: TableName, one: Built) -> tuple[str, str]:
    """Where a built tar waits for its record, and where it is at rest: the same in a remote store."""
    return staged_path(ctx, table, one.name, one.crc), ctx.deep_store.file_path(table.raw, one.name, one.crc)


def is_there(ctx: Context, table: TableName, push_id: str, one: Built) -> bool:
    """Whether a built segment's tar is in the deep store, whole: staged, or already at its place."""
    places = (tar_path(push_id, one.ordinal), *staged_and_place(ctx, table, one))
    return any(ctx.deep_store.size(p) == one.size_bytes for p in places)


def remove_files(session: Session) -> None:
    """Delete the push's staging folder, and tars in place that no segment record speaks of."""
    ctx, push = session.ctx, session.push
    ctx.deep_store.delete_folder(f"{STAGING}/{push.pk}")
    table = TableName(push.table_name, OFFLINE)
    for segment in push.segments.exclude(uri=""):
        node = ctx.store.get(paths.segment(table.typed, segment.name))
        on_record = segment_metadata.from_record(node.record).crc if node and node.record else None
        if on_record is None:
            ctx.deep_store.delete(ctx.deep_store.segment_path(table.raw, segment.name))
        if segment.crc is not None and (on_record != segment.crc or ctx.deep_store.local_root is not None):
            ctx.deep_store.delete(staged_path(ctx, table, segment.name, segment.crc))
