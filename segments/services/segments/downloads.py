"""Give out a segment's tar, the one whose CRC is on record (rule `crc-of-the-bytes`), or save one that is open."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from segments.errors import PayloadTooLarge, Unavailable
from segments.names import check_raw_table_name, check_segment_name
from segments.services.core.context import Context

CHUNK_BYTES: Final = 1 << 18
_SAVED_BYTES: Final = 1 << 20


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


def save_tar(ctx: Context, raw_table: str, segment: str, opened: tuple[int, BinaryIO], target: Path) -> int:
    """Write a segment's tar, opened as (bytes, stream), to a local file; returns its bytes and closes the stream.
    Unavailable when it was cut short, PayloadTooLarge when it has more bytes than an upload may.
    """
    size, stream = opened
    with stream, target.open("wb") as out:
        check_tar_size(ctx, size, segment, raw_table)
        shutil.copyfileobj(stream, out, _SAVED_BYTES)
    if target.stat().st_size != size:
        raise Unavailable(f"The download of segment '{segment}' of '{raw_table}' was cut short.", remedy="Try again.")
    return size


def check_tar_size(ctx: Context, size: int, segment: str, raw_table: str) -> None:
    """PayloadTooLarge for more bytes than an upload may have."""
    most = ctx.limits.upload_bytes
    if size > most:
        text = f"The file of segment '{segment}' of '{raw_table}' has more than {most:,} bytes."
        raise PayloadTooLarge(text, remedy="Raise PINOTADMIN_MAX_UPLOAD_BYTES if it is right.")
