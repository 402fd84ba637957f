"""Addresses of segments' files: what a record holds, and which file of our deep store it names.

Records name a path below the deep store. Where that is (a folder, a bucket, a web process that hands files out) is
found out by whoever reads the file, so nothing is lost when it moves.
"""

from __future__ import annotations

from collections.abc import Collection

from segments.domain.access.cluster_signature import address_of
from segments.domain.segments import store_address
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.names import TableName
from segments.services.core.context import Context
from segments.store.records.instances import web_urls


def recorded_address(ctx: Context, table: TableName, segment: str, crc: int) -> str:
    """What stands in the record of a version of a segment that the deep store has."""
    return store_address.recorded(ctx.deep_store.file_path(table.raw, segment, crc))


def known_webs(ctx: Context) -> frozenset[str]:
    """``host:port`` of every web process that ever was one of this cluster's."""
    return frozenset(map(address_of, (ctx.controller_url, *web_urls(ctx.store).values())))


def own_file(ctx: Context, table: TableName, meta: SegmentMetadata, webs: Collection[str] | None = None) -> str | None:
    """The path of the segment's own file as its record names it, in any form that ever stood there; None for a file at
    a foreign address, for one that only servers have, and for another file in the table's folder. ``webs``: whose
    ``/segments/TABLE/SEGMENT`` are ours, None: everybody's.
    """
    address = meta.download_url or ""
    path = ctx.deep_store.path_of(address)
    if path is None and (found := store_address.earlier(address, table.raw, meta.name)) is not None:
        path = found.path if found.is_ours(ctx.deep_store.url, (found.origin,) if webs is None else webs) else None
    place = ctx.deep_store.segment_path(table.raw, meta.name)
    crc = meta.crc or 0
    return path if path in (place, f"{place}@{crc}", ctx.deep_store.staged_path(table.raw, meta.name, crc)) else None


def stored_paths(ctx: Context, table: TableName, segment: str, meta: SegmentMetadata | None) -> list[str]:
    """Where the file of the version on record may be: staged under its CRC while an upload was cut, where the record
    says, else at the segment's place. A store that was a folder before, or a bucket, has other names in it.
    """
    place = ctx.deep_store.segment_path(table.raw, segment)
    if meta is None or meta.crc is None:
        return [place]
    named = own_file(ctx, table, meta)
    found = [ctx.deep_store.staged_path(table.raw, segment, meta.crc), *([named] if named else []), place]
    return list(dict.fromkeys(found))
