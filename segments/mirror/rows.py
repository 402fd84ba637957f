"""What the mirror rows of one table should be, computed from the records in ZooKeeper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name
from segments.domain.replacement import lineage as lineages
from segments.domain.replacement.lineage import Lineage
from segments.domain.segments.ideal_state import CONSUMING, ERROR, SERVING
from segments.domain.segments.segment_metadata import COMMITTING, IN_PROGRESS, SegmentMetadata
from segments.secret_texts import mask_text

Rows = Mapping[str, Mapping[str, str]]

#: Columns of a table's row that are sums over its segments; ``_summands`` gives one segment's part of each.
_SUMS: Final = (
    "segments_total",
    "segments_visible",
    "replicas_wanted",
    "replicas_online",
    "rows_visible",
    "bytes_total",
    "bytes_visible",
    "consuming_segments",
    "segments_short",
    "segments_unserved",
    "segments_in_error",
    "segments_committing",
    "segments_unrecoverable",
    "segments_without_url",
)


@dataclass
class TableState:
    """One table as last read: its records, and what was computed from them. Edited only by the follower's one thread.

    ``documents``: the records that it was made of, by the prefix of their path. ``records`` of segments, ``unread`` the
    names of those in the ideal state that have none. ``sums`` over ``segments``, kept as these change: a table has
    100,000 of them, and one changes.
    """

    name: str
    documents: dict[str, ZNRecord | None] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    schema: dict[str, Any] = field(default_factory=dict)
    replication: int = 1
    ingestion_type: str = "APPEND"
    ideal: Rows = field(default_factory=dict)
    pause: dict[str, Any] = field(default_factory=dict)
    is_disabled: bool = False
    view: Rows = field(default_factory=dict)
    lineage: Lineage = field(default_factory=lambda: lineages.empty(""))
    hidden: set[str] = field(default_factory=set)
    records: dict[str, SegmentMetadata] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)
    segments: dict[str, dict[str, Any]] = field(default_factory=dict)
    sums: list[int] = field(default_factory=lambda: [0] * len(_SUMS))

    def keep_segments_of(self, before: TableState) -> None:
        """Go on with what is known of the segments."""
        self.records, self.unread, self.segments, self.sums = (
            before.records,
            before.unread,
            before.segments,
            before.sums,
        )

    def put_segments(self, rows: dict[str, dict[str, Any]]) -> None:
        """Begin with these rows."""
        self.segments, self.sums = {}, [0] * len(_SUMS)
        for name, row in rows.items():
            self.put_row(name, row)

    def put_row(self, name: str, row: dict[str, Any] | None) -> None:
        """Set or (None) remove the row of a segment, and keep the sums right."""
        before = self.segments.get(name)
        if before is not None:
            self.sums = [a - b for a, b in zip(self.sums, _summands(before), strict=True)]
        if row is None:
            self.segments.pop(name, None)
        else:
            self.sums = [a + b for a, b in zip(self.sums, _summands(row), strict=True)]
            self.segments[name] = row


@dataclass(frozen=True)
class Changes:
    """Rows to write ({segment: column values}) and names to delete."""

    upserts: dict[str, dict[str, Any]]
    deletes: set[str]


def segment_row(name: str, state: TableState) -> dict[str, Any]:
    """Column values of one segment's mirror row."""
    record = state.records.get(name) or SegmentMetadata(name, {})
    wanted, states = state.ideal.get(name, {}), state.view.get(name, {})
    return {
        "status": record.status,
        "crc": record.crc,
        "total_docs": record.total_docs,
        "size_bytes": record.size_bytes,
        "start_ms": record.start_ms,
        "end_ms": record.end_ms,
        "creation_ms": record.creation_ms,
        "push_ms": record.push_ms,
        "refresh_ms": record.refresh_ms,
        "download_url": mask_text(record.download_url or ""),
        "is_visible": name not in state.hidden,
        **_stream_columns(name, record, wanted),
        "replicas": {i: states.get(i, "OFFLINE") for i in sorted(set(wanted) | set(states))},
        "replicas_wanted": len(wanted),
        "replicas_online": sum(states.get(i) in SERVING for i in wanted),
    }


def _stream_columns(name: str, record: SegmentMetadata, wanted: Mapping[str, str]) -> dict[str, Any]:
    """Where in the stream a consuming or committed segment lies; all empty for others."""
    parts = parse_llc_name(name) if is_llc_name(name) else None
    flush = record.fields.get("segment.flush.threshold.size", "")
    return {
        "partition": parts.partition if parts else None,
        "sequence": parts.sequence if parts else None,
        "start_offset": record.fields.get("segment.realtime.startOffset", ""),
        "end_offset": record.fields.get("segment.realtime.endOffset", ""),
        "flush_rows": int(flush) if flush.isdigit() else None,
        "is_consuming": CONSUMING in wanted.values(),
    }


def recompute(state: TableState, dirty: Iterable[str]) -> Changes:
    """Bring ``state.segments`` up to date for the dirty names; returns what differs from before."""
    upserts: dict[str, dict[str, Any]] = {}
    deletes: set[str] = set()
    for name in dirty:
        if name not in state.ideal:
            if name in state.segments:
                state.put_row(name, None)
                deletes.add(name)
            continue
        row = segment_row(name, state)
        if state.segments.get(name) != row:
            state.put_row(name, row)
            upserts[name] = row
    return Changes(upserts, deletes)


def _summands(row: Mapping[str, Any]) -> tuple[int, ...]:
    visible, size = int(row["is_visible"]), row["size_bytes"] or 0
    docs = row["total_docs"] or 0
    is_unserved = not row["replicas_online"]
    is_in_error, is_committing = ERROR in row["replicas"].values(), row["status"] == COMMITTING
    return (
        1,
        visible,
        row["replicas_wanted"],
        row["replicas_online"],
        docs * visible,
        size,
        size * visible,
        int(row["is_consuming"]),
        int(row["replicas_online"] < row["replicas_wanted"]),
        int(is_unserved),
        int(is_in_error),
        int(is_committing),
        int(is_committing and is_in_error and is_unserved),
        int(row["status"] != IN_PROGRESS and not row["download_url"]),
    )


def table_row(state: TableState) -> dict[str, Any]:
    """Column values of the table's mirror row: config and sums over its segments."""
    return {
        "config": state.config,
        "schema": state.schema,
        "replication": state.replication,
        "ingestion_type": state.ingestion_type,
        **dict(zip(_SUMS, state.sums, strict=True)),
        "pause": state.pause,
        "is_disabled": state.is_disabled,
    }
