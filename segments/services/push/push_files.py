"""Files of a push in the deep store: removing what nobody needs any more."""

from __future__ import annotations

from segments.domain.segments import segment_metadata
from segments.gateways.deep_store.deepstore import STAGING
from segments.names import OFFLINE, TableName
from segments.services.push.push_session import Session
from segments.services.segments.upload_files import staged_path
from segments.store import paths


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
