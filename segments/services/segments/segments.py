"""Read a table's segments: names by type, time and lineage; records; CRCs; which server holds what."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from segments.domain.replacement import lineage as lineages
from segments.domain.segments import segment_metadata
from segments.domain.segments.segment_metadata import COMPLETED_STATUSES, SegmentMetadata
from segments.domain.tables.secret_masks import mask
from segments.errors import InvalidInput, NotFound
from segments.names import TableName
from segments.secret_texts import mask_text
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import observe
from segments.services.upkeep.segment_record_cache import CachedRecord
from segments.store import paths

_URL: Final = "download.url"


@dataclass(frozen=True)
class TimeWindow:
    """Segments inside [start, end) in epoch milliseconds; a partial overlap counts unless ``exclude_overlapping``."""

    start_ms: int | None = None
    end_ms: int | None = None
    exclude_overlapping: bool = False

    @property
    def is_open(self) -> bool:
        """No bound is given: everything matches."""
        return self.start_ms is None and self.end_ms is None

    def takes(self, segment: SegmentMetadata) -> bool:
        """Is the segment chosen? One without times is; a consuming one is not when an end is given."""
        if segment.status not in COMPLETED_STATUSES:
            return self.end_ms is None
        first, last = segment.start_ms, segment.end_ms
        if first is None or last is None:
            return True
        start = self.start_ms if self.start_ms is not None else -(2**63)
        end = self.end_ms if self.end_ms is not None else 2**63
        if first > last:
            return False
        if self.exclude_overlapping:
            return start <= first and last < end
        return first < end and last >= start


def check_window(window: TimeWindow) -> TimeWindow:
    """The window, or InvalidInput when it ends before it begins."""
    if window.start_ms is not None and window.end_ms is not None and window.start_ms >= window.end_ms:
        raise InvalidInput(
            f"startTimestamp {window.start_ms} must be before endTimestamp {window.end_ms}.",
            remedy="Give epoch milliseconds, start first.",
        )
    return window


def list_segments(
    ctx: Context, table: TableName, *, exclude_replaced: bool = False, window: TimeWindow | None = None
) -> list[str]:
    """Names of the table's segments, sorted; with ``exclude_replaced`` only those that queries see. NotFound: no such
    table.
    """
    seen = observe(ctx, table)
    names = seen.lineage.visible(seen.ideal.maps) if exclude_replaced else sorted(seen.ideal.maps)
    if window is None or window.is_open:
        return names
    check_window(window)
    records = read_records(ctx, table, names)
    return [s for s in names if s in records and window.takes(records[s])]


def read_records(ctx: Context, table: TableName, names: Sequence[str] | None = None) -> dict[str, SegmentMetadata]:
    """{segment: record} of these segments, or of all that have one; those without a record are left out."""
    wanted = ctx.store.children(paths.segments(table.typed)) if names is None else names
    nodes = ctx.store.get_many([paths.segment(table.typed, s) for s in wanted])
    return {s: segment_metadata.from_record(n.record) for s, n in zip(wanted, nodes, strict=True) if n and n.record}


def cached_records(ctx: Context, table: TableName) -> dict[str, CachedRecord]:
    """{segment: what a pass needs to know of it}, of all segments that have a record; what is settled may be an hour
    old.
    """
    names = ctx.store.children(paths.segments(table.typed))
    return ctx.segment_record_cache.read(
        table.typed, names, lambda wanted: read_records(ctx, table, wanted), ctx.clock()
    )


def read_segments(ctx: Context, table: TableName) -> list[SegmentMetadata]:
    """All segment records of the table."""
    names: Sequence[str] = ctx.store.children(paths.segments(table.typed))
    nodes = ctx.store.get_many([paths.segment(table.typed, s) for s in names])
    return [segment_metadata.from_record(n.record) for n in nodes if n and n.record]


def read_record(ctx: Context, tables: Iterable[TableName], segment: str) -> tuple[TableName, SegmentMetadata]:
    """The first of these tables that has the segment, and its record there. NotFound names both."""
    listed = list(tables)
    for table in listed:
        if found := read_records(ctx, table, [segment]).get(segment):
            return table, found
    raise NotFound(
        f"Segment '{segment}' does not exist in table '{listed[0].raw}'.",
        remedy=f"List them with GET /segments/{listed[0].raw}.",
    )


def record_json(metadata: SegmentMetadata) -> dict[str, str]:
    """Pinot's flat form: simple fields as they stand in the record, plus ``custom.map`` as JSON text. What proves
    something in an address is masked.
    """
    custom = {"custom.map": json.dumps(mask(dict(metadata.custom)))} if metadata.custom else {}
    return {
        **metadata.fields,
        **{key: mask_text(text) for key, text in metadata.fields.items() if key.endswith(_URL)},
        **custom,
    }


def crc_by_segment(ctx: Context, table: TableName) -> dict[str, str]:
    """{segment: CRC as text} of the segments of the ideal state."""
    records = read_records(ctx, table, sorted(observe(ctx, table).ideal.maps))
    return {s: str(m.crc) for s, m in records.items() if m.crc is not None}


def segments_by_server(ctx: Context, table: TableName) -> dict[str, list[str]]:
    """{instance: its segments, sorted} by the ideal state."""
    held: dict[str, list[str]] = {}
    for segment, row in sorted(observe(ctx, table).ideal.maps.items()):
        for instance in row:
            held.setdefault(instance, []).append(segment)
    return dict(sorted(held.items()))


def read_states(ctx: Context, table: TableName, *, observed: bool) -> dict[str, dict[str, str]] | None:
    """{segment: {instance: state}} as it should be, or with ``observed`` as it is; None when there is no
    such record.
    """
    node = ctx.store.get(paths.external_view(table.typed) if observed else paths.ideal_state(table.typed))
    return node.record.maps if node and node.record else None


def lineage_json(ctx: Context, table: TableName) -> dict[str, object] | None:
    """The lineage document, or None when the table has no lineage. RecordCorrupt when it cannot be read."""
    node = ctx.store.get(paths.lineage(table.typed))
    return lineages.from_record(node.record).to_json() if node and node.record else None
