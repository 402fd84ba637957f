"""Tars of the embedded cluster's segments: from the deep store, staged or in place, by the CRC on record."""

from __future__ import annotations

from typing import BinaryIO, cast

from segments.domain.segments import segment_metadata
from segments.errors import NotFound
from segments.names import OFFLINE, REALTIME, TableName
from segments.services.core.context import Context
from segments.services.segments.upload_files import staged_path
from segments.store import paths


def open_file(ctx: Context, raw_table: str, segment: str) -> tuple[int, BinaryIO]:
    """As ``SegmentEngine.open_file``."""
    staged = [staged_path(ctx, TableName(raw_table, OFFLINE), segment, crc) for crc in _crcs(ctx, raw_table, segment)]
    for path in [*staged, ctx.deep_store.segment_path(raw_table, segment)]:
        size = ctx.deep_store.size(path)
        if size is not None:
            return size, cast("BinaryIO", ctx.deep_store.open(path))
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
