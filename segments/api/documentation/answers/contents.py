"""Answers about what a table consists of: sizes, kept segments, lag of its stream, findings."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from segments.api.documentation.answers.replacement import Answer


class SizeOfServer(Answer):
    """Bytes on one server; -1: it does not report."""

    segment_name: str
    disk_size_in_bytes: int


class SegmentSize(Answer):
    """Bytes of a segment on all servers together; estimated: with those of servers that do not report."""

    reported_size_in_bytes: int
    estimated_size_in_bytes: int
    server_info: dict[str, SizeOfServer]


class SizeOfType(Answer):
    """Bytes of the segments of one type."""

    reported_size_in_bytes: int
    estimated_size_in_bytes: int
    missing_segments: int
    segments: dict[str, SegmentSize]


class TableSize(Answer):
    """Bytes on the disks of all servers together."""

    table_name: str
    reported_size_in_bytes: int
    estimated_size_in_bytes: int
    offline_segments: SizeOfType | None
    realtime_segments: SizeOfType | None


class TableTotals(Answer):
    """Segments, rows and bytes, each segment counted once. The maps, which are Pinot's, are empty."""

    table_name: str
    disk_size_in_bytes: int
    num_segments: int
    num_rows: int
    column_length_map: dict[str, Any]
    column_cardinality_map: dict[str, Any]
    max_num_multi_values_map: dict[str, Any]
    column_index_size_map: dict[str, Any]


class SchemaChanged(Answer):
    """What was done."""

    status: str
    unrecognized_properties: dict[str, Any]


class SegmentOutcome(Answer):
    """What became of one segment, or would; ``remedy``: what to do where it was refused."""

    segment: str
    outcome: Literal["done", "unchanged", "refused", "failed"]
    message: str
    remedy: str
    bytes: int | None
    crc: int | None


class SegmentsChanged(Answer):
    """What became of each segment; ``summary`` counts the outcomes."""

    table: str
    dry_run: bool
    summary: dict[str, int]
    segments: list[SegmentOutcome]


class KeptSegment(Answer):
    """A file that is kept of a deleted or replaced segment. Times are ISO 8601 in UTC."""

    segment: str
    file: str | None
    bytes: int | None
    deleted_at: str | None
    deleted_by: str | None
    reason: str | None
    expires_at: str | None
    restorable: bool
    why: str
    replaced_by_crc: int | None
    crc: int | None
    rows: int | None


class KeptSegments(Answer):
    """One page of them; ``next`` is the offset of the following one."""

    table: str
    total: int
    next: int | None
    segments: list[KeptSegment]


class ReplicaLag(Answer):
    """How far one replica is behind the end of the stream; null: not known."""

    server: str
    consuming: bool
    offset: str | None
    messages: int | None
    behind_ms: int | None


class LagAt(Answer):
    """A sample of the past."""

    at_ms: int
    messages: int | None
    behind_ms: int | None
    rows_per_second: float | None = None


class PartitionLag(Answer):
    """The lag of a partition, as its best replica has it, and samples of the last day."""

    partition: int
    segment: str | None
    messages: int | None
    behind_ms: int | None
    offset: str | None
    last_consumed_ms: int | None
    replicas: list[ReplicaLag]
    history: list[LagAt]


class TableLag(Answer):
    """The lag of each partition."""

    table: str
    partitions: list[PartitionLag]


class ForceCommitStarted(Answer):
    """The job that follows the commit."""

    force_commit_status: str
    job_meta_z_k_write_status: str = msgspec.field(name="jobMetaZKWriteStatus")
    force_commit_job_id: str


class Snooze(Answer):
    """Until when nobody is notified of a finding, and why."""

    until: str
    actor: str
    reason: str


class TableFinding(Answer):
    """Something that is wrong with a table. Times are ISO 8601 in UTC."""

    id: int
    kind: str
    subject: str
    severity: Literal["error", "warning"]
    message: str
    first_seen: str
    last_seen: str
    closed_at: str | None
    is_fixable: bool
    snooze: Snooze | None
    assignee: str = ""


class TableFindings(Answer):
    """Findings of a table, errors first."""

    table: str
    findings: list[TableFinding]


class IgnoredColumn(Answer):
    """A column that the schema does not have, and in how many files it is."""

    column: str
    files: int


class DefaultUsed(Answer):
    """In how many rows the column's default stands for a missing value."""

    column: str
    rows: int
    value: Any


class BadValue(Answer):
    """Where a value is that does not fit."""

    file: str
    line: int | None
    row: int | None
    column: str
    value: str
    why: str


class PushReport(Answer):
    """What a push found in its files; ``isComplete``: all of them were read."""

    push: str
    table_name: str
    rows_read: int
    bad_rows: int
    error_rate: float
    is_complete: bool
    ignored_columns: list[IgnoredColumn]
    defaults: list[DefaultUsed]
    bad_values: list[BadValue]
