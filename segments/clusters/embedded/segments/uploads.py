"""Uploads to the embedded cluster: the file is staged, then record and row are written in one transaction, then the
file gets its final name; or nothing is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from segments.clusters.embedded.segments.registration import Registration
from segments.clusters.embedded.segments.sole_writer import release_names, sole_writer
from segments.clusters.embedded.segments.staged_files import StagedFiles
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.domain.segments.upload import UploadedSegment
from segments.errors import InvalidInput
from segments.names import TableName, check_segment_name
from segments.segmentfile.format.crc import NO_CRC
from segments.segmentfile.format.info import SegmentInfo
from segments.segmentfile.packed.tar import read_info_from_tar
from segments.services.core.context import Context
from segments.services.engine.segments import Upload
from segments.services.segments.addresses import recorded_address
from segments.services.segments.upload_files import (
    bring,
    checked_source,
    own_path,
    scratch,
    staged_path,
    to_record,
    verified_info,
)
from segments.services.segments.upload_options import MetadataPart, UploadResult, target_config


def upload_uri(ctx: Context, upload: Upload, uri: str) -> UploadResult:
    """As ``SegmentEngine.upload_uri``."""
    with scratch() as folder:
        tar = folder / "segment.tar.gz"
        bring(ctx, upload.table, uri, tar)
        return upload_tar(ctx, upload, tar, "" if upload.options.copy else uri)


def upload_tar(ctx: Context, upload: Upload, tar: Path, uri: str = "") -> UploadResult:
    """As ``SegmentEngine.upload_tar``; ``uri``: where servers fetch it, "": from the deep store."""
    info, table = verified_info(ctx, tar), upload.table
    config = target_config(ctx, table)
    address = to_record(ctx, table, uri) if uri else recorded_address(ctx, table, info.name, info.crc)
    part = described(info, address, tar.stat().st_size)
    work = Registration(ctx, config, [part], upload.options, upload.lineage_entry, ctx.clock(), upload.actor)
    with sole_writer(ctx, table, part.name):
        before = work.check()
        files = StagedFiles(ctx, table)
        if not uri and not _is_stored(ctx, table, part, before[part.name]):
            files.add(part.name, part.crc, tar, _crc(before[part.name]))
        work.keep_replaced()
        with files.landing():
            work.write()
    return _finished(work)


def upload_metadata(ctx: Context, upload: Upload, parts: Sequence[MetadataPart]) -> UploadResult:
    """As ``SegmentEngine.upload_metadata``."""
    names, table = [info.name for info, _, _ in parts], upload.table
    if not parts or len(set(names)) != len(names):
        raise InvalidInput(
            "A metadata push names each of its segments once, and at least one.", remedy="Check the list of segments."
        )
    config = target_config(ctx, table)
    segments = [described(i, checked_source(ctx, table, uri), size or _size(ctx, table, uri)) for i, uri, size in parts]
    work = Registration(ctx, config, segments, upload.options, upload.lineage_entry, ctx.clock(), upload.actor)
    if upload.options.copy:
        return _copy_and_register(work, [uri for _, uri, _ in parts])
    work.check()
    release_names(ctx, table, names)
    work.keep_replaced(is_landed=True)
    work.write()
    return _finished(work)


def _copy_and_register(work: Registration, sources: Sequence[str]) -> UploadResult:
    """Copy the tars into the deep store, verify that they are the announced segments, then register them there."""
    with sole_writer(work.ctx, work.config.table, *[p.name for p in work.parts]), scratch() as folder:
        before = work.check()
        files = StagedFiles(work.ctx, work.config.table)
        try:
            work.parts = [
                _copied(work, files, part, uri, before[part.name], folder / "segment.tar.gz")
                for part, uri in zip(work.parts, sources, strict=True)
            ]
        except Exception:
            files.discard()
            raise
        work.keep_replaced()
        with files.landing():
            work.write()
    return _finished(work)


def _copied(
    work: Registration, files: StagedFiles, part: UploadedSegment, uri: str, old: SegmentMetadata | None, tar: Path
) -> UploadedSegment:
    """The segment with its address in the deep store, where its file is staged unless it is there already."""
    ctx, table = work.ctx, work.config.table
    here = replace(part, download_url=recorded_address(ctx, table, part.name, part.crc))
    if _is_stored(ctx, table, part, old):
        return here
    bring(ctx, table, uri, tar)
    _check_same(part, read_info_from_tar(tar), uri)
    return replace(here, size_bytes=files.add(part.name, part.crc, tar, _crc(old)))


def _finished(work: Registration) -> UploadResult:
    """Servers are asked to load what changed; what came in."""
    work.notify_servers()
    names = tuple(p.name for p in work.parts)
    return UploadResult(work.config.table, names, tuple(sorted(work.changed)), tuple(work.warnings))


def _check_same(part: UploadedSegment, info: SegmentInfo, uri: str) -> None:
    if (info.name, info.crc) != (part.name, part.crc):
        raise InvalidInput(
            f"'{uri}' holds segment '{info.name}' with CRC {info.crc}, announced was '{part.name}' with CRC "
            f"{part.crc}.",
            remedy="Push metadata and tar of the same segment.",
        )


def _is_stored(ctx: Context, table: TableName, part: UploadedSegment, old: SegmentMetadata | None) -> bool:
    """The deep store has this very content in its place: same CRC and address on record, nothing staged, and the file
    is there.
    """
    if old is None or old.crc != part.crc or old.download_url != recorded_address(ctx, table, part.name, part.crc):
        return False
    staged = staged_path(ctx, table, part.name, part.crc)
    place = ctx.deep_store.file_path(table.raw, part.name, part.crc)
    is_staged = staged != place and ctx.deep_store.size(staged) is not None
    return not is_staged and ctx.deep_store.size(place) is not None


def _crc(old: SegmentMetadata | None) -> int | None:
    return old.crc if old is not None else None


def _size(ctx: Context, table: TableName, uri: str) -> int | None:
    own = own_path(ctx, table, uri)
    return ctx.deep_store.size(own) if own is not None else None


def described(info: SegmentInfo, url: str, size: int | None) -> UploadedSegment:
    """What a segment says of itself, as an upload; InvalidInput without a CRC."""
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
        partitions=info.partitions,
    )
