"""The file of a commit: where the committer put it, and its way to the segment's final name (rule
`file-after-decision`).

Nothing is moved over a committed segment's file before the commit is decided (rule `file-after-decision`). A local deep
store: the upload is renamed to a name with its CRC, then the records are written, then it gets its final name; who
downloads in between finds it by the CRC on record. A remote one is read by servers directly: there the name with the
CRC is the final one, so no later commit changes what a record's address leads to.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments.segment_metadata import URL_KEYS, SegmentMetadata, from_record
from segments.errors import InvalidInput
from segments.gateways.deep_store.deepstore import encode
from segments.metrics.upkeep import STRANDED_FILES
from segments.names import REALTIME, TableName
from segments.services.core.context import Context
from segments.services.segments.addresses import own_file, recorded_address
from segments.services.segments.upload_files import staged_path
from segments.store import paths

#: Uploads of consuming segments that nobody committed; younger ones may belong to a commit under way.
LEFT_AFTER_MS: Final = 6 * 3_600_000
_TEMPORARY = re.compile(r"(?P<segment>.+__\d+__\d+__\d{8}T\d{4}Z)\.tmp\.[\w-]+")


class ForeignLocation(InvalidInput):
    """A commit end names an address that this cluster never gave for the segment; servers would fetch from there."""


class CommitFile:
    """The tar that a commit end names. ``url`` goes on record: "" when only servers have it.

    Raises ForeignLocation for a location that is neither the segment's own nor the peers'.
    """

    def __init__(self, ctx: Context, table: TableName, segment: str, location: str, crc: int) -> None:
        self._ctx, self._table, self._segment = ctx, table, segment
        self._crc = crc
        self._final = ctx.deep_store.file_path(table.raw, segment, crc)
        self._given = ctx.deep_store.segment_path(table.raw, segment)
        self._staged = staged_path(ctx, table, segment, crc)
        self._source = self._checked(location)
        self.url = self._url()

    def stage(self) -> None:
        """Right before the records are written; repeating it is harmless. InvalidInput when there is no file."""
        if self._source is None:
            return
        store = self._ctx.deep_store
        if self._source not in (self._staged, self._final) and store.move(self._source, self._staged):
            return
        if not any(store.size(path) is not None for path in (self._staged, self._final)):
            raise InvalidInput(
                f"There is no file of segment '{self._segment}' at the reported place.", remedy="Upload it again."
            )

    def discard(self) -> None:
        """The upload is not wanted; the segment's own file stays as it is."""
        if self._source is not None and self._source not in (self._final, self._given):
            self._ctx.deep_store.delete(self._source)
            if self._staged != self._final:
                self._ctx.deep_store.delete(self._staged)

    def finish(self) -> None:
        """Right after the records are written: the final name."""
        if self._source is not None and self._staged != self._final:
            self._ctx.deep_store.move(self._staged, self._final)

    def _checked(self, location: str) -> str | None:
        """The path in the deep store, None for a file that only servers have."""
        if _is_peer(location):
            return None
        path = self._ctx.deep_store.path_of(location)
        if path is None and own_file(self._ctx, self._table, SegmentMetadata(self._segment, {URL_KEYS[0]: location})):
            return self._final  # as the API shows it
        if path is None or not (path in (self._final, self._given) or path.startswith(self._given + ".tmp.")):
            raise ForeignLocation(
                f"'{location[:200]}' is no place for a file of segment '{self._segment}'.",
                remedy="Upload it to the deep store below its table's folder, or with POST /segmentUpload.",
            )
        return path

    def _url(self) -> str:
        return recorded_address(self._ctx, self._table, self._segment, self._crc) if self._source is not None else ""


def finish_left(ctx: Context, table: TableName, segment: str, crc: int | None) -> bool:
    """Give the file of a committed segment its name when the process that wrote the records died before it could; True
    when it had to.
    """
    if crc is None or ctx.deep_store.local_root is None:
        return False
    return ctx.deep_store.move(staged_path(ctx, table, segment, crc), ctx.deep_store.segment_path(table.raw, segment))


def remove_left_uploads(ctx: Context, table: TableName, *, older_than_ms: int = LEFT_AFTER_MS) -> int:
    """Delete uploads of the table's consuming segments that never were committed, or lost to another replica's; returns
    how many.

    The file whose CRC is on record is the segment's and gets its name. One that the record's address names stays as
    it is: a Pinot leaves such addresses behind.
    """
    if table.type != REALTIME:
        return 0
    folder, before = encode(table.raw), ctx.clock() - older_than_ms
    left = [(f.name, f.modified_ms) for f in ctx.deep_store.files(folder) if _TEMPORARY.fullmatch(f.name)]
    removed = 0
    for name, modified_ms in left:
        segment = name.partition(".tmp.")[0]
        node = ctx.store.get(paths.segment(table.typed, segment))
        crc = node.record.simple.get("segment.crc") if node and node.record else None
        if crc is not None and name == f"{segment}.tmp.{crc}":
            finish_left(ctx, table, segment, int(crc))
        elif modified_ms < before and not (node and node.record and is_address_of(node.record, name)):
            removed += ctx.deep_store.delete(f"{folder}/{name}")
    STRANDED_FILES.add(ctx.cluster, table.typed, by=removed)
    return removed


def is_address_of(record: ZNRecord, name: str) -> bool:
    """Does the record of a segment name the file of this (encoded) name as the place to download it from?"""
    address = from_record(record).download_url or ""
    return unquote(address.rpartition("/")[2]) in (name, unquote(name))


def _is_peer(location: str) -> bool:
    return location.lower().startswith("peer://")
