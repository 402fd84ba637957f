"""Give out a segment's tar, the one whose CRC is on record (rule `crc-of-the-bytes`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from segments.names import check_raw_table_name, check_segment_name
from segments.services.core.context import Context

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
    return SegmentFile(segment, *ctx.engine.segments.open_file(ctx, raw_table, segment))
