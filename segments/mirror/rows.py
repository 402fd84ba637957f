"""What the mirror rows of one table should be, computed from the records in ZooKeeper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import add, sub
from types import MappingProxyType
from typing import Any, Final

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.replacement import lineage as lineages
from segments.domain.replacement.lineage import Lineage
from segments.domain.segments.ideal_state import ERROR
from segments.domain.segments.segment_metadata import COMMITTING, IN_PROGRESS, SegmentMetadata
from segments.mirror.segment_rows import Places, Rows, SegmentRow

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
    """One table as last read: its documents, and what was computed from them and from the records of its segments.
    Edited only by the follower's one thread.

    ``documents``: the records that it was made of, by the prefix of their path. ``unread``: the segments in the ideal
    state that have no record. ``sums`` over ``segments``, kept as these change: a table has 100,000 of them, and one
    changes.
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
    unread: set[str] = field(default_factory=set)
    segments: dict[str, SegmentRow] = field(default_factory=dict)
    sums: list[int] = field(default_factory=lambda: [0] * len(_SUMS))

    def keep_segments_of(self, before: TableState) -> None:
        """Go on with what is known of the segments."""
        self.unread, self.segments, self.sums = before.unread, before.segments, before.sums

    def put_segments(self, rows: Mapping[str, SegmentRow]) -> None:
        """Begin with these rows."""
        self.segments, self.sums = {}, [0] * len(_SUMS)
        for name, row in rows.items():
            self.put_row(name, row)

    def put_row(self, name: str, row: SegmentRow | None) -> None:
        """Set or (None) remove the row of a segment, and keep the sums right."""
        before = self.segments.get(name)
        if before is not None:
            self.sums = list(map(sub, self.sums, _summands(before)))
        if row is None:
            self.segments.pop(name, None)
        else:
            self.sums = list(map(add, self.sums, _summands(row)))
            self.segments[name] = row


@dataclass(frozen=True)
class Changes:
    """Rows to write, by their segment, and names to delete."""

    upserts: dict[str, SegmentRow]
    deletes: set[str]

    def add(self, other: Changes) -> None:
        """And these."""
        self.upserts.update(other.upserts)
        self.deletes.update(other.deletes)


def recompute(
    state: TableState, dirty: Iterable[str], records: Mapping[str, SegmentMetadata | None] = MappingProxyType({})
) -> Changes:
    """Bring ``state.segments`` up to date for the dirty names; returns what differs from before. ``records`` are those
    that were read for it, None for a segment that has none; of others what their rows know counts.
    """
    found, places = Changes({}, set()), Places(state.ideal, state.view, state.hidden)
    for name in dirty:
        before = state.segments.get(name)
        if name not in state.ideal:
            if before is not None:
                state.put_row(name, None)
                found.deletes.add(name)
            continue
        is_known = before is not None and name not in records
        row = places.moved(name, before) if is_known and before else places.row(name, records.get(name))
        if before != row:
            state.put_row(name, row)
            found.upserts[name] = row
    return found


def _summands(row: SegmentRow) -> tuple[int, ...]:
    visible, size, docs = int(row.is_visible), row.size_bytes or 0, row.total_docs or 0
    is_unserved = not row.replicas_online
    is_in_error, is_committing = ERROR in row.replicas.values(), row.status == COMMITTING
    return (
        1,
        visible,
        row.replicas_wanted,
        row.replicas_online,
        docs * visible,
        size,
        size * visible,
        int(row.is_consuming),
        int(row.replicas_online < row.replicas_wanted),
        int(is_unserved),
        int(is_in_error),
        int(is_committing),
        int(is_committing and is_in_error and is_unserved),
        int(row.status != IN_PROGRESS and not row.download_url),
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
