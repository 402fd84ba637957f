"""Take segments in: a tar, the address of a tar, or only its metadata; one or many, new or refreshed
(rule `upload-checks`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from segments.clusters.pinot.segments import uploads as pinot_uploads
from segments.clusters.pinot.segments.uploads import Sent
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.domain.segments.upload import UploadedSegment
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput, NotFound, PinotAdminError
from segments.gateways.outgoing.fetch import check_address
from segments.names import TableName, check_segment_name
from segments.segmentfile.format.crc import NO_CRC
from segments.segmentfile.format.info import ColumnInfo, SegmentInfo, read_info
from segments.segmentfile.packed.tar import extract_tar, read_info_from_tar
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.segments.upload_files import (
    StagedFiles,
    bring,
    check_place,
    checked_source,
    download_url,
    fetch_rules,
    own_path,
    release_names,
    scratch,
    sole_writer,
    staged_path,
)
from segments.services.segments.upload_registration import Registration, UploadOptions, table_missing
from segments.services.tables.table_record import read_table_config

__all__ = [
    "UploadOptions",
    "UploadResult",
    "table_in_tar",
    "upload_metadata",
    "upload_metadata_tar",
    "upload_tar",
    "upload_uri",
]

#: One segment of a metadata push: what it says of itself, where its tar is, and the tar's bytes if known.
MetadataPart = tuple[SegmentInfo, str, int | None]


@dataclass(frozen=True)
class UploadResult:
    """What came in. ``changed`` lists segments that were there before with other content, ``warnings`` what the caller
    should know.
    """

    table: TableName
    segments: tuple[str, ...]
    changed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def table_in_tar(tar: Path) -> str:
    """The raw table name that the segment in a tar names; for uploads that do not tell their table."""
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
    return _audited(
        ctx,
        table,
        actor,
        lambda: _upload_tar(ctx, table, tar, None, options or UploadOptions(), lineage_entry, actor),
        [],
    )


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
        check_address(
            uri, fetch_rules(ctx)
        )  # our own deep store, when it is a folder, is no place that clients may name

    check_place(ctx, table, uri)

    def run() -> UploadResult:
        if ctx.pinot is not None:
            _check_foreign(ctx, table, uri)
            sent = pinot_uploads.upload_uri(
                ctx, table, uri, copy=copy, options=options, lineage_entry=lineage_entry, actor=actor
            )
            return _sent(table, sent)
        with scratch() as folder:
            tar = folder / "segment.tar.gz"
            bring(ctx, table, uri, tar)
            return _upload_tar(ctx, table, tar, None if copy else uri, options or UploadOptions(), lineage_entry, actor)

    return _audited(ctx, table, actor, run, [])


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
    """METADATA push of one segment: ``tar`` holds its two small files, ``uri`` tells where the segment's own tar is."""
    if ctx.pinot is not None:
        _check_foreign(ctx, table, uri)
        sent = partial(
            pinot_uploads.upload_metadata_tar,
            ctx,
            table,
            tar,
            uri,
            options=options,
            lineage_entry=lineage_entry,
            actor=actor,
        )
        return _audited(ctx, table, actor, lambda: _sent(table, sent()), [])
    parts = [(read_info_from_tar(tar), uri, None)]
    return upload_metadata(ctx, table, parts, options=options, actor=actor, lineage_entry=lineage_entry)


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
    chosen = options or UploadOptions()
    names = [info.name for info, _, _ in parts]
    if ctx.pinot is not None:
        return _audited(
            ctx,
            table,
            actor,
            lambda: _sent(table, *_by_address(ctx, table, parts, chosen, lineage_entry, actor)),
            names,
        )
    return _audited(ctx, table, actor, lambda: _upload_metadata(ctx, table, parts, chosen, lineage_entry, actor), names)


def _upload_tar(
    ctx: Context,
    table: TableName,
    tar: Path,
    uri: str | None,
    options: UploadOptions,
    lineage_entry: str | None,
    actor: Actor,
) -> UploadResult:
    info = _verified(ctx, tar)
    if ctx.pinot is not None:
        return _sent(table, pinot_uploads.upload_tar(ctx, table, tar, options, lineage_entry, actor=actor))
    config = _config(ctx, table)
    part = _described(info, uri or download_url(ctx, table, info.name, info.crc), tar.stat().st_size)
    upload = Registration(ctx, config, [part], options, lineage_entry, ctx.clock(), actor)
    with sole_writer(ctx, table, part.name):
        before = upload.check()
        files = StagedFiles(ctx, table)
        if uri is None and not _is_stored(ctx, table, part, before[part.name]):
            files.add(part.name, part.crc, tar, _crc(before[part.name]))
        upload.keep_replaced()
        with files.landing():
            upload.write()
    upload.tell_servers()
    return UploadResult(table, (part.name,), tuple(sorted(upload.changed)), tuple(upload.warnings))


def _by_address(
    ctx: Context,
    table: TableName,
    parts: Sequence[MetadataPart],
    options: UploadOptions,
    lineage_entry: str | None,
    actor: Actor,
) -> list[Sent]:
    """A batch for a Pinot cluster: its controller reads each tar where it is, which every version can, and leaves it
    there.
    """
    for _, uri, _ in parts:
        _check_foreign(ctx, table, uri)
    return [
        pinot_uploads.upload_uri(
            ctx, table, uri, copy=options.copy, options=options, lineage_entry=lineage_entry, info=info, actor=actor
        )
        for info, uri, _ in parts
    ]


def _check_foreign(ctx: Context, table: TableName, uri: str) -> None:
    """May a Pinot's controller and servers be told to read this? What lies in file stores that only they know is theirs
    to refuse.
    """
    if urlsplit(uri).scheme.lower() in ("", "file", "http", "https") and own_path(ctx, table, uri) is None:
        check_address(uri, fetch_rules(ctx))


def _sent(table: TableName, *sent: Sent) -> UploadResult:
    warnings = tuple(w for one in sent for w in one.warnings)
    return UploadResult(table, tuple(s.name for s in sent), tuple(s.name for s in sent if s.changed), warnings)


def _upload_metadata(
    ctx: Context,
    table: TableName,
    parts: Sequence[MetadataPart],
    options: UploadOptions,
    lineage_entry: str | None,
    actor: Actor,
) -> UploadResult:
    names = [info.name for info, _, _ in parts]
    if not parts or len(set(names)) != len(names):
        raise InvalidInput(
            "A metadata push names each of its segments once, and at least one.", remedy="Check the list of segments."
        )
    config = _config(ctx, table)
    described = [
        _described(i, checked_source(ctx, table, i.name, i.crc, uri), size or _size(ctx, table, uri))
        for i, uri, size in parts
    ]
    upload = Registration(ctx, config, described, options, lineage_entry, ctx.clock(), actor)
    if options.copy:
        return _copy_and_register(upload, [uri for _, uri, _ in parts])
    upload.check()
    release_names(ctx, table, names)
    upload.keep_replaced(is_landed=True)
    upload.write()
    upload.tell_servers()
    return UploadResult(table, tuple(names), tuple(sorted(upload.changed)), tuple(upload.warnings))


def _copy_and_register(upload: Registration, sources: Sequence[str]) -> UploadResult:
    """Copy the tars into the deep store, verify that they are the announced segments, then register them there."""
    ctx, parts, table, names = upload.ctx, upload.parts, upload.config.table, [p.name for p in upload.parts]
    with sole_writer(ctx, table, *names), scratch() as folder:
        before = upload.check()
        files, copied = StagedFiles(ctx, table), []
        try:
            for part, uri in zip(parts, sources, strict=True):
                here = replace(part, download_url=download_url(ctx, table, part.name, part.crc))
                if not _is_stored(ctx, table, part, before[part.name]):
                    tar = folder / "segment.tar.gz"
                    bring(ctx, table, uri, tar)
                    _check_same(part, read_info_from_tar(tar), uri)
                    here = replace(here, size_bytes=files.add(part.name, part.crc, tar, _crc(before[part.name])))
                copied.append(here)
        except Exception:
            files.discard()
            raise
        upload.parts = copied
        upload.keep_replaced()
        with files.landing():
            upload.write()
    upload.tell_servers()
    return UploadResult(table, tuple(names), tuple(sorted(upload.changed)), tuple(upload.warnings))


def _verified(ctx: Context, tar: Path) -> SegmentInfo:
    """Unpack the whole tar once, so that a damaged one is refused before anything is written; what it
    says of itself.
    """
    with scratch() as folder:
        return read_info(extract_tar(tar, folder, max_bytes=ctx.limits.unpacked_bytes))


def _check_same(part: UploadedSegment, info: SegmentInfo, uri: str) -> None:
    if (info.name, info.crc) != (part.name, part.crc):
        raise InvalidInput(
            f"'{uri}' holds segment '{info.name}' with CRC {info.crc}, announced was '{part.name}' with CRC "
            f"{part.crc}.",
            remedy="Push metadata and tar of the same segment.",
        )


def _config(ctx: Context, table: TableName) -> TableConfig:
    try:
        return read_table_config(ctx, table)
    except NotFound as error:
        raise table_missing(table.typed) from error


def _is_stored(ctx: Context, table: TableName, part: UploadedSegment, old: SegmentMetadata | None) -> bool:
    """The deep store has this very content in its place: same CRC and address on record, nothing staged, and the file
    is there.
    """
    if old is None or old.crc != part.crc or old.download_url != download_url(ctx, table, part.name, part.crc):
        return False
    staged, place = (
        staged_path(ctx, table, part.name, part.crc),
        ctx.deep_store.file_path(table.raw, part.name, part.crc),
    )
    is_staged = staged != place and ctx.deep_store.size(staged) is not None
    return not is_staged and ctx.deep_store.size(place) is not None


def _crc(old: SegmentMetadata | None) -> int | None:
    return old.crc if old is not None else None


def _size(ctx: Context, table: TableName, uri: str) -> int | None:
    own = own_path(ctx, table, uri)
    return ctx.deep_store.size(own) if own is not None else None


def _described(info: SegmentInfo, url: str, size: int | None) -> UploadedSegment:
    check_segment_name(info.name)
    if info.crc == NO_CRC:
        raise InvalidInput(
            f"Segment '{info.name}' has no CRC: creation.meta is missing or cut.", remedy="Build the segment again."
        )
    time_column = info.columns.get(info.time_column or "")
    return UploadedSegment(
        name=info.name,
        crc=info.crc,
        data_crc=info.data_crc,
        total_docs=info.total_docs,
        index_version=info.index_version,
        creation_ms=info.creation_time_ms,
        start_ms=info.start_time_ms,
        end_ms=info.end_time_ms,
        start_raw=time_column.min_value if time_column else None,
        end_raw=time_column.max_value if time_column else None,
        size_bytes=size,
        download_url=url,
        custom=info.custom,
        start_offset=info.realtime_start_offset,
        end_offset=info.realtime_end_offset,
        partitions={n: _partition(c) for n, c in sorted(info.columns.items()) if c.partition_function},
    )


def _partition(column: ColumnInfo) -> dict[str, Any]:
    return {
        "functionName": column.partition_function,
        "numPartitions": column.num_partitions,
        "partitions": list(column.partitions),
        "functionConfig": None,
    }


def _audited(ctx: Context, table: TableName, actor: Actor, run: Any, names: Sequence[str]) -> UploadResult:
    """Run; who uploaded what, or was refused, is on record."""
    try:
        result: UploadResult = run()
    except PinotAdminError as error:
        outcome = "refused" if error.permanent else "failed"
        audit.record(
            actor,
            "uploadSegments",
            cluster=ctx.cluster,
            target=table.typed,
            outcome=outcome,
            error=str(error),
            segments=names[:100],
        )
        raise
    segments, changed = list(result.segments)[:100], list(result.changed)[:100]
    audit.record(
        actor,
        "uploadSegments",
        cluster=ctx.cluster,
        target=table.typed,
        count=len(result.segments),
        segments=segments,
        changed=changed,
    )
    return result
