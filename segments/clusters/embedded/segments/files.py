"""Tars of the embedded cluster's segments: from the deep store, staged or in place, by the CRC on record."""

from __future__ import annotations

from typing import BinaryIO, cast

from segments.domain.segments import segment_metadata
from segments.errors import NotFound
from segments.names import OFFLINE, REALTIME, TableName
from segments.services.core.context import Context
from segments.services.segments.addresses import stored_paths
from segments.store import paths


def open_file(ctx: Context, raw_table: str, segment: str) -> tuple[int, BinaryIO]:
    """As ``SegmentEngine.open_file``."""
    for path in _paths(ctx, raw_table, segment):
        size = ctx.deep_store.size(path)
        if size is not None:
            return size, cast("BinaryIO", ctx.deep_store.open(path))
    raise NotFound(
        f"Segment '{segment}' of table '{raw_table}' has no file in the deep store.",
        remedy="Check both names; use the raw table name.",
    )


def _paths(ctx: Context, raw_table: str, segment: str) -> list[str]:
    """Where it may be, the likeliest first: both halves of a hybrid table share the folder."""
    tables = (TableName(raw_table, OFFLINE), TableName(raw_table, REALTIME))
    nodes = ctx.store.get_many([paths.segment(t.typed, segment) for t in tables])
    records = [segment_metadata.from_record(n.record) if n and n.record else None for n in nodes]
    found = [p for t, r in zip(tables, records, strict=True) if r for p in stored_paths(ctx, t, segment, r)]
    place = ctx.deep_store.segment_path(raw_table, segment)
    return [*dict.fromkeys(p for p in found if p != place), place]
