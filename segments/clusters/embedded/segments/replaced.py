"""Keeps file and record of a segment that another of the same name is about to replace, among those of deleted
segments.

Its file is copied before the new one gets its place. The kept name holds the CRC, so that an upload that is repeated
keeps the old content once, and no version takes the place of another (``segments.services.segments.archive``).
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from segments.clusters.embedded.segments.deep_store_upload import try_upload
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments import archive as documents
from segments.domain.segments import segment_metadata
from segments.domain.segments.archive import ArchivedSegment
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.domain.tables.table_config import TableConfig
from segments.domain.upkeep import retention
from segments.errors import PinotAdminError
from segments.gateways.deep_store.deepstore import encode
from segments.names import TableName
from segments.segmentfile.packed.tar import read_info_from_tar
from segments.services.core.context import Actor, Context
from segments.services.segments.addresses import own_file, stored_paths
from segments.services.segments.archive import document_path, in_parallel, kept_path
from segments.store import paths

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Replaced:
    """The record and servers of a segment, and CRC and address of what takes its place."""

    record: ZNRecord
    servers: tuple[str, ...]
    crc: int
    url: str

    @property
    def old(self) -> SegmentMetadata:
        """The record as a segment's."""
        return segment_metadata.from_record(self.record)


@dataclass(frozen=True)
class KeptNow:
    """What became of one: ``file`` is its name among the kept files, None: nothing is kept; ``is_new``: it was not kept
    before.
    """

    segment: str
    crc: int
    file: str | None
    is_new: bool = False
    warning: str = ""


def keep(
    ctx: Context, config: TableConfig, replaced: Iterable[Replaced], actor: Actor, *, is_landed: bool = False
) -> list[KeptNow]:
    """Keep these for the table's ``deletedSegmentsRetentionPeriod``, or the cluster's time; nothing where that is zero.

    ``is_landed``: the new file may have its place already, so what lies there is only kept when its CRC is the old one.
    May run again. Raises Unavailable when the deep store does not take the copy: then nothing may be replaced.
    """
    if not ctx.deep_store.exists:
        return []  # nothing is kept of deleted segments either
    return in_parallel(lambda one: _keep(ctx, config, one, actor, is_landed), replaced)


def take_back(ctx: Context, table: TableName, made: Sequence[KeptNow]) -> None:
    """Remove what was kept of segments that are still there with the very content."""
    nodes = ctx.store.get_many([paths.segment(table.typed, m.segment) for m in made])
    for one, node in zip(made, nodes, strict=True):
        is_there = (
            node is not None and node.record is not None and segment_metadata.from_record(node.record).crc == one.crc
        )
        if is_there and one.file is not None:
            ctx.deep_store.delete(kept_path(table, one.file))
            ctx.deep_store.delete(document_path(table, one.file))


def _keep(ctx: Context, config: TableConfig, one: Replaced, actor: Actor, is_landed: bool) -> KeptNow:
    table, store, old, now = config.table, ctx.deep_store, one.old, ctx.clock()
    crc = old.crc or 0
    named = documents.version_name(encode(old.name), crc)
    target = retention.deleted_file_path(
        encode(table.raw), named, config.deleted_retention, ctx.limits.deleted_segments_days, now
    )
    if target is None:
        return KeptNow(old.name, crc, None)
    file, is_new = target.rsplit("/", 1)[1], store.size(target) is None
    source = _source(ctx, table, old, is_landed) if is_new else target
    if source is None and not _is_elsewhere(ctx, table, one):
        text = f"The replaced segment '{old.name}' is not kept: the deep store has no file with its CRC {crc}."
        log.warning("%s of %s: %s", old.name, table, text)
        return KeptNow(old.name, crc, None, warning=text)
    kept = ArchivedSegment(
        table=table.typed,
        segment=old.name,
        file=file,
        record=one.record,
        bytes=store.size(source) if source else None,
        servers=one.servers,
        requested_ms=now,
        deleted_ms=now,
        deleted_by=actor.name,
        reason=actor.reason,
        replaced_by=one.crc,
    )
    store.write(document_path(table, file), documents.to_json(kept))
    store.touch(document_path(table, file), now)
    if source is not None and is_new:
        store.copy(source, target)
    store.touch(target, now)
    return KeptNow(old.name, crc, file, is_new)


def _source(ctx: Context, table: TableName, old: SegmentMetadata, is_landed: bool) -> str | None:
    """Where the old file is, None: nowhere in our deep store. One that only servers have is copied there first."""
    if old.is_on_servers_only and (failure := try_upload(ctx, table, old.name, old)):
        log.warning("Segment %s of %s is replaced and was only on servers: %s", old.name, table, failure)
    place = ctx.deep_store.segment_path(table.raw, old.name)
    paths = stored_paths(ctx, table, old.name, old)
    found = next((path for path in paths if path != place and ctx.deep_store.size(path) is not None), None)
    if found is not None:
        return found
    if ctx.deep_store.size(place) is None or (old.download_url and not own_file(ctx, table, old)):
        return None
    return place if not is_landed or crc_of_file(ctx, place) == old.crc else None


def crc_of_file(ctx: Context, path: str) -> int | None:
    """The CRC of the segment in a tar of the deep store; None for what is none."""
    try:
        if ctx.deep_store.local_root is not None:
            return read_info_from_tar(ctx.deep_store.local_root / path).crc
        with tempfile.TemporaryDirectory(prefix="replaced-") as folder:
            ctx.deep_store.fetch(path, Path(folder) / "segment.tar.gz")
            return read_info_from_tar(Path(folder) / "segment.tar.gz").crc
    except PinotAdminError:
        return None


def _is_elsewhere(ctx: Context, table: TableName, one: Replaced) -> bool:
    """Is the old file at a foreign address that the new one does not take?"""
    return bool(one.old.download_url) and one.old.download_url != one.url and not own_file(ctx, table, one.old)
