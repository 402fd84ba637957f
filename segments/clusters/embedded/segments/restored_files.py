"""The file side of a restore on the embedded cluster: from the kept name to the segment's own and, where a restore was
cut, on or back.
"""

from __future__ import annotations

from collections.abc import Mapping

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments.archive import ArchivedSegment
from segments.domain.segments.pending_deletion import Pending
from segments.domain.segments.segment_metadata import from_record
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.segments import archive
from segments.services.segments.archive import KeptFile, document_path, kept_path
from segments.services.segments.upload_files import staged_path
from segments.store import paths
from segments.store.base import Versioned


def stage(ctx: Context, table: TableName, one: KeptFile) -> bool:
    """Move the kept file where servers find it by the CRC on record; True when it is there (also from an attempt that
    was cut).
    """
    assert one.kept is not None  # only such were foreseen as possible
    if one.kept.bytes is None:
        return True
    place = _landing_place(ctx, table, one.kept)
    return ctx.deep_store.move(kept_path(table, one.file), place) or ctx.deep_store.size(place) is not None


def _landing_place(ctx: Context, table: TableName, kept: ArchivedSegment) -> str:
    """Next to the final name in a local store; in a remote one the name with the CRC is the final one."""
    return staged_path(ctx, table, kept.segment, kept.metadata.crc or 0)


def land(ctx: Context, table: TableName, kept: ArchivedSegment | None) -> None:
    """The file's final name; then the document goes."""
    if kept is None:
        return
    place = ctx.deep_store.file_path(table.raw, kept.segment, kept.metadata.crc or 0)
    staged = _landing_place(ctx, table, kept)
    if staged != place:
        ctx.deep_store.move(staged, place)
    ctx.deep_store.delete(document_path(table, kept.file))


def unstage(ctx: Context, table: TableName, kept: ArchivedSegment | None, file: str) -> None:
    """Put the file back into the archive."""
    if kept is not None and kept.bytes is not None:
        ctx.deep_store.move(_landing_place(ctx, table, kept), kept_path(table, file))


def settle(
    ctx: Context, table: TableName, broken: Mapping[str, Pending], nodes: Mapping[str, Versioned | None]
) -> dict[str, str]:
    """End restores whose process died: with a row they are ended, without one undone; {segment: what was done}."""
    fates = {}
    ideal = ctx.store.get(paths.ideal_state(table.typed)) if broken else None
    rows: Mapping[str, object] = ideal.record.maps if ideal and ideal.record else {}
    for segment, item in broken.items():
        kept = archive.read_document(ctx, table, item.restores)
        node = nodes[segment]
        is_back = segment in rows and node is not None and node.record is not None
        if (
            is_back
            and kept is not None
            and node is not None
            and node.record is not None
            and _is_same(node.record, kept)
        ):
            land(ctx, table, kept)
            fates[segment] = "its interrupted restore is ended"
        else:
            unstage(ctx, table, kept, item.restores)
            fates[segment] = "its interrupted restore is undone, the file is kept for a restore"
    return fates


def _is_same(record: ZNRecord, kept: ArchivedSegment) -> bool:
    return from_record(record).crc == kept.metadata.crc
