"""Give out a segment's tar from the deep store, the one whose CRC is on record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, cast

from segments.clusters.pinot.segments import files as pinot_files
from segments.domain.segments import segment_metadata
from segments.errors import NotFound
from segments.names import OFFLINE, REALTIME, TableName, check_raw_table_name, check_segment_name
from segments.services.core.context import Context
from segments.services.segments.upload_files import staged_path
from segments.store import paths

CHUNK_BYTES: Final = 1 << 18


@dataclass(frozen=True)
class SegmentFile:
    """An open tar and its size in bytes. Whoever gets it closes it."""

    name: str
    size: int
    stream: BinaryIO

    def chunks(self) -> Iterator[bytes]:
        """The bytes, piece by piece; the stream is closed at the end."""
        try:
            while chunk := self.stream.read(CHUNK_BYTES):
                yield chunk
        finally:
            self.stream.close()


def open_segment(ctx: Context, raw_table: str, segment: str) -> SegmentFile:
    """Open a segment's tar by the raw table name. NotFound when there is none; names that could leave the folder are
    refused.
    """
    check_raw_table_name(raw_table)
    check_segment_name(segment)
    if ctx.pinot is not None:
        return SegmentFile(segment, *pinot_files.open_stream(ctx, raw_table, segment))
    staged = [staged_path(ctx, TableName(raw_table, OFFLINE), segment, crc) for crc in _crcs(ctx, raw_table, segment)]
    for path in [*staged, ctx.deep_store.segment_path(raw_table, segment)]:
        size = ctx.deep_store.size(path)
        if size is not None:
            return SegmentFile(segment, size, cast("BinaryIO", ctx.deep_store.open(path)))
    raise NotFound(
        f"Segment '{segment}' of table '{raw_table}' has no file in the deep store.",
        remedy="Check both names; use the raw table name.",
    )


def _crcs(ctx: Context, raw_table: str, segment: str) -> list[int]:
    """CRCs on record for the segment: both halves of a hybrid table share the folder."""
    tables = (TableName(raw_table, OFFLINE), TableName(raw_table, REALTIME))
    nodes = ctx.store.get_many([paths.segment(t.typed, segment) for t in tables])
    found = (segment_metadata.from_record(n.record).crc for n in nodes if n and n.record)
    return [crc for crc in found if crc is not None]
