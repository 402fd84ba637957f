"""What the mirror rows of one table should be, computed from the records in ZooKeeper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from segments.domain import lineage as lineages
from segments.domain.ideal_state import CONSUMING, SERVING
from segments.domain.lineage import Lineage
from segments.domain.llc_name import is_llc_name, parse_llc_name
from segments.domain.segment_metadata import SegmentMetadata

Rows = Mapping[str, Mapping[str, str]]


@dataclass
class TableState:
    """One table as last read: its records, and what was computed from them. Edited only by the follower's one thread."""

    name: str
    config: dict[str, Any] = field(default_factory=dict)
    schema: dict[str, Any] = field(default_factory=dict)
    replication: int = 1
    ingestion_type: str = "APPEND"
    ideal: Rows = field(default_factory=dict)
    pause: dict[str, Any] = field(default_factory=dict)
    is_disabled: bool = False
    view: Rows = field(default_factory=dict)
    lineage: Lineage = field(default_factory=lambda: lineages.empty(""))
    records: dict[str, SegmentMetadata] = field(default_factory=dict)
    segments: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Changes:
    """Rows to write ({segment: column values}) and names to delete."""

    upserts: dict[str, dict[str, Any]]
    deletes: set[str]


def segment_row(name: str, state: TableState, hidden: set[str]) -> dict[str, Any]:
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
        "download_url": record.download_url or "",
        "is_visible": name not in hidden,
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
    hidden = state.lineage.hidden()
    upserts: dict[str, dict[str, Any]] = {}
    deletes: set[str] = set()
    for name in dirty:
        if name not in state.ideal:
            if state.segments.pop(name, None) is not None:
                deletes.add(name)
            continue
        row = segment_row(name, state, hidden)
        if state.segments.get(name) != row:
            state.segments[name] = upserts[name] = row
    return Changes(upserts, deletes)


def table_row(state: TableState) -> dict[str, Any]:
    """Column values of the table's mirror row: config and sums over its segments."""
    rows = state.segments.values()
    visible = [r for r in rows if r["is_visible"]]
    return {
        "config": state.config,
        "schema": state.schema,
        "replication": state.replication,
        "ingestion_type": state.ingestion_type,
        "segments_total": len(state.segments),
        "segments_visible": len(visible),
        "replicas_wanted": sum(r["replicas_wanted"] for r in rows),
        "replicas_online": sum(r["replicas_online"] for r in rows),
        "rows_visible": sum(r["total_docs"] or 0 for r in visible),
        "bytes_total": sum(r["size_bytes"] or 0 for r in rows),
        "bytes_visible": sum(r["size_bytes"] or 0 for r in visible),
        "consuming_segments": sum(r["is_consuming"] for r in rows),
        "pause": state.pause,
        "is_disabled": state.is_disabled,
    }
