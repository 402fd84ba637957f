"""Copies of a real Pinot's segments that are deleted or replaced by name through us, so that they can come back: Pinot
has no restore.

Only where the table asks for it (``metadata.customConfigs``: ``pinotadmin.deletion.keepCopies`` = ``true``): each copy
goes through the controller once. They lie in our own deep store in the layout of deleted segments
(``services.archive``), and age as those do.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from segments.clusters.pinot.segments.files import fetch_segment
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments import archive as documents
from segments.domain.segments.archive import KEEP_COPIES, ArchivedSegment
from segments.domain.segments.segment_metadata import COMPLETED_STATUSES, from_record
from segments.domain.tables.table_config import TableConfig
from segments.domain.upkeep import retention as rules
from segments.gateways.deep_store.deepstore import encode
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.segments import archive
from segments.services.segments.archive import document_path, kept_path
from segments.store import paths

_PINOT_KEEPS: Final = (
    "Pinot moves its file to Deleted_Segments and keeps it there for {term}; from there it can be uploaded again "
    "by hand."
)
_RESTORABLE: Final = "Their files are kept for a while, and they can be restored from the tab Deleted."
_GONE: Final = (
    "They cannot be restored from here, and there is no undo: Pinot keeps their files in Deleted_Segments for a "
    f"while. With {KEEP_COPIES} = true in the table's metadata.customConfigs, copies are kept before segments are "
    "deleted from here."
)


def keeps_copies(config: TableConfig) -> bool:
    """Does the table ask for copies of what is deleted through us?"""
    return config.custom.get(KEEP_COPIES, "").strip().lower() == "true"


def fate(config: TableConfig, retention: str | None) -> str:
    """What becomes of the file of a deleted segment, as a sentence."""
    if keeps_copies(config):
        return "A copy is kept for a restore."
    term = retention or config.deleted_retention
    return _PINOT_KEEPS.format(term=term or "the cluster's time, 7 days by default")


def notice(config: TableConfig) -> str:
    """What becomes of the files of deleted segments, for who is about to delete some."""
    return _RESTORABLE if keeps_copies(config) else _GONE


def keep_before(ctx: Context, table: TableName, segments: Sequence[str], actor: Actor, *, config: TableConfig) -> None:
    """Copy these before they are deleted, if the table asks for it. Raises when one cannot be copied: then nothing is
    deleted.
    """
    if not segments or not keeps_copies(config):
        return
    nodes = ctx.store.get_many([paths.segment(table.typed, s) for s in segments])
    ideal = ctx.store.get(paths.ideal_state(table.typed))
    rows = ideal.record.maps if ideal and ideal.record else {}
    found = [
        (s, n.record)
        for s, n in zip(segments, nodes, strict=True)
        if n is not None and n.record is not None and s in rows
    ]
    archive.in_parallel(lambda one: _keep(ctx, config, one[0], one[1], tuple(rows[one[0]]), actor), found)


def keep_replaced(ctx: Context, config: TableConfig, segment: str, crc: int, actor: Actor) -> None:
    """Copy a segment before one of the same name with this ``crc`` takes its place, if the table asks for copies; once
    for a content.

    Raises when it cannot be copied: then nothing is replaced.
    """
    if not keeps_copies(config):
        return
    table = config.table
    ideal, node = ctx.store.get_many([paths.ideal_state(table.typed), paths.segment(table.typed, segment)])
    if node is None or node.record is None or not documents.is_replaced_by(from_record(node.record), crc):
        return
    kept = archive.find(ctx, table, [segment]).get(segment)
    if (
        kept is not None
        and kept.is_there
        and kept.kept is not None
        and kept.kept.metadata.crc == from_record(node.record).crc
    ):
        return
    servers = tuple(ideal.record.maps.get(segment, ())) if ideal and ideal.record else ()
    _keep(ctx, config, segment, node.record, servers, actor, replaced_by=crc)


def _keep(
    ctx: Context, config: TableConfig, segment: str, record: ZNRecord, servers: tuple[str, ...], actor: Actor,
    *, replaced_by: int | None = None,
) -> None:  # fmt: skip
    if from_record(record).status not in COMPLETED_STATUSES:
        return  # it is still consumed: there is no file
    now, table = ctx.clock(), config.table
    own = config.deleted_retention or f"{ctx.limits.deleted_segments_days}d"
    named = documents.version_name(encode(segment), from_record(record).crc or 0)
    target = rules.deleted_file_path(encode(table.raw), named, own, ctx.limits.deleted_segments_days, now)
    if target is None:
        return
    file = target.rsplit("/", 1)[1]
    with tempfile.TemporaryDirectory(prefix="kept-") as folder:
        tar = Path(folder) / "segment.tar.gz"
        size = fetch_segment(ctx, table.raw, segment, tar)
        keeps = ArchivedSegment(
            table.typed, segment, file, record, size, servers, now, now, actor.name, actor.reason, replaced_by
        )
        store = archive.kept_context(ctx).deep_store
        store.write(document_path(table, file), documents.to_json(keeps))
        store.put(tar, kept_path(table, file))
