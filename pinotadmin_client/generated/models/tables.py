"""Models of tables.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field


class ConfigWarning(Struct, frozen=True, kw_only=True):
    """A key of a config that is without effect."""

    key: str
    problem: str
    remedy: str


class SegmentSize(Struct, frozen=True, kw_only=True):
    """Bytes of a segment on all servers together; estimated: with those of servers that do not report."""

    reported_size_in_bytes: int = field(name="reportedSizeInBytes")
    estimated_size_in_bytes: int = field(name="estimatedSizeInBytes")
    server_info: dict[str, SizeOfServer] = field(name="serverInfo")


class SizeOfServer(Struct, frozen=True, kw_only=True):
    """Bytes on one server; -1: it does not report."""

    segment_name: str = field(name="segmentName")
    disk_size_in_bytes: int = field(name="diskSizeInBytes")


class SizeOfType(Struct, frozen=True, kw_only=True):
    """Bytes of the segments of one type."""

    reported_size_in_bytes: int = field(name="reportedSizeInBytes")
    estimated_size_in_bytes: int = field(name="estimatedSizeInBytes")
    missing_segments: int = field(name="missingSegments")
    segments: dict[str, SegmentSize]


class Snooze(Struct, frozen=True, kw_only=True):
    """Until when nobody is notified of a finding, and why."""

    until: str
    actor: str
    reason: str


class TableChanged(Struct, frozen=True, kw_only=True):
    """What was done, and what to mind."""

    status: str
    unrecognized_properties: dict[str, Any] = field(name="unrecognizedProperties")
    warnings: list[ConfigWarning] = field(default_factory=list)


class TableFinding(Struct, frozen=True, kw_only=True):
    """Something that is wrong with a table. Times are ISO 8601 in UTC."""

    id: int
    kind: str
    subject: str
    severity: Literal["error", "warning"]
    message: str
    first_seen: str = field(name="firstSeen")
    last_seen: str = field(name="lastSeen")
    closed_at: str | None = field(name="closedAt")
    is_fixable: bool = field(name="isFixable")
    snooze: Snooze | None
    assignee: str = field(default="")


class TableFindings(Struct, frozen=True, kw_only=True):
    """Findings of a table, errors first."""

    table: str
    findings: list[TableFinding]


class TableNames(Struct, frozen=True, kw_only=True):
    """Names of tables."""

    tables: list[str]


class TableSize(Struct, frozen=True, kw_only=True):
    """Bytes on the disks of all servers together."""

    table_name: str = field(name="tableName")
    reported_size_in_bytes: int = field(name="reportedSizeInBytes")
    estimated_size_in_bytes: int = field(name="estimatedSizeInBytes")
    offline_segments: SizeOfType | None = field(name="offlineSegments")
    realtime_segments: SizeOfType | None = field(name="realtimeSegments")


class TableState(Struct, frozen=True, kw_only=True):
    """enabled or disabled."""

    state: str


class TableTotals(Struct, frozen=True, kw_only=True):
    """Segments, rows and bytes, each segment counted once. The maps, which are Pinot's, are empty."""

    table_name: str = field(name="tableName")
    disk_size_in_bytes: int = field(name="diskSizeInBytes")
    num_segments: int = field(name="numSegments")
    num_rows: int = field(name="numRows")
    column_length_map: dict[str, Any] = field(name="columnLengthMap")
    column_cardinality_map: dict[str, Any] = field(name="columnCardinalityMap")
    max_num_multi_values_map: dict[str, Any] = field(name="maxNumMultiValuesMap")
    column_index_size_map: dict[str, Any] = field(name="columnIndexSizeMap")
