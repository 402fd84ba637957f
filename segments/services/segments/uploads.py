"""Take segments in: a tar, the address of a tar, or only its metadata; one or many, new or refreshed.

What may be read and what a tar says of itself is checked here, and every upload is audited; the engine takes it in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from segments.gateways.outgoing.fetch import check_address
from segments.names import TableName
from segments.segmentfile.packed.tar import read_info_from_tar
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.engine.segments import Upload
from segments.services.segments.upload_files import check_place, fetch_rules
from segments.services.segments.upload_options import MetadataPart, UploadOptions, UploadResult

__all__ = [
    "UploadOptions",
    "UploadResult",
    "table_in_tar",
    "upload_metadata",
    "upload_metadata_tar",
    "upload_tar",
    "upload_uri",
]

#: Names in an audit record.
_SHOWN: Final = 100


def table_in_tar(tar: Path) -> str:
    """The raw table name that the segment in a tar names; for uploads that do not name their table."""
    return read_info_from_tar(tar).table


def upload_tar(
    ctx: Context,
    table: TableName,
    tar: Path,
    *,
    options: UploadOptions | None = None,
    actor: Actor,
    lineage_entry: str | None = None,
) -> UploadResult:
    """Take in a segment's tar; servers load it from the deep store. Nothing is left when it is refused.

    Raises SegmentCorrupt, InvalidInput (also for an unknown table), Forbidden, StateConflict, Gone or
    PreconditionFailed.
    """
    upload = Upload(table, options or UploadOptions(), lineage_entry, actor)
    return _audited(ctx, upload, lambda: ctx.engine.segments.upload_tar(ctx, upload, tar))


def upload_uri(
    ctx: Context,
    table: TableName,
    uri: str,
    *,
    copy: bool = True,
    options: UploadOptions | None = None,
    actor: Actor,
    lineage_entry: str | None = None,
) -> UploadResult:
    """Fetch a tar and take it in. Without ``copy`` servers fetch it from ``uri`` too. Raises as ``upload_tar``, and
    Unavailable.

    What may be named is configured: schemes and roots; never a local file outside of them, nor this cluster's own
    folders.
    """
    if urlsplit(uri).scheme in ("", "file"):
        # Our own deep store, when it is a folder, is no place that clients may name.
        check_address(uri, fetch_rules(ctx))
    check_place(ctx, table, uri)
    upload = Upload(table, replace(options or UploadOptions(), copy=copy), lineage_entry, actor)
    return _audited(ctx, upload, lambda: ctx.engine.segments.upload_uri(ctx, upload, uri))


def upload_metadata_tar(
    ctx: Context,
    table: TableName,
    tar: Path,
    uri: str,
    *,
    options: UploadOptions | None = None,
    actor: Actor,
    lineage_entry: str | None = None,
) -> UploadResult:
    """METADATA push of one segment: ``tar`` holds its two small files, the segment's own tar is at ``uri``."""
    upload = Upload(table, options or UploadOptions(), lineage_entry, actor)
    return _audited(ctx, upload, lambda: ctx.engine.segments.upload_metadata_tar(ctx, upload, tar, uri))


def upload_metadata(
    ctx: Context,
    table: TableName,
    parts: Sequence[MetadataPart],
    *,
    options: UploadOptions | None = None,
    actor: Actor,
    lineage_entry: str | None = None,
) -> UploadResult:
    """Register segments whose tars are elsewhere; all are admitted before the first is written.

    ``lineage_entry`` fences the upload: StateConflict unless that entry is IN_PROGRESS and lists every segment (rule
    `fenced-uploads`). Raises as ``upload_tar``. Repeating it with the same segments changes nothing but their refresh
    times.
    """
    upload = Upload(table, options or UploadOptions(), lineage_entry, actor)
    names = [info.name for info, _, _ in parts]
    return _audited(ctx, upload, lambda: ctx.engine.segments.upload_metadata(ctx, upload, parts), names)


def _audited(ctx: Context, upload: Upload, run: Callable[[], UploadResult], names: Sequence[str] = ()) -> UploadResult:
    """Run; who uploaded what, or was refused, is on record."""
    with audit.recorded(
        ctx, upload.actor, "uploadSegments", upload.table.typed, segments=list(names)[:_SHOWN]
    ) as detail:
        result = run()
        detail.update(
            count=len(result.segments),
            segments=list(result.segments)[:_SHOWN],
            changed=list(result.changed)[:_SHOWN],
        )
    return result
