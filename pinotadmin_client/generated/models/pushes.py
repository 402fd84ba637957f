"""Models of pushes.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field


class BadValue(Struct, frozen=True, kw_only=True):
    """Where a value is that does not fit."""

    file: str
    line: int | None
    row: int | None
    column: str
    value: str
    why: str


class DefaultUsed(Struct, frozen=True, kw_only=True):
    """In how many rows the column's default stands for a missing value."""

    column: str
    rows: int
    value: Any


class IgnoredColumn(Struct, frozen=True, kw_only=True):
    """A column that the schema does not have, and in how many files it is."""

    column: str
    files: int


class Push(Struct, frozen=True, kw_only=True):
    """A push: state, figures, seconds per stage. Times are ISO 8601 in UTC."""

    id: str
    cluster: str
    table_name: str = field(name="tableName")
    state: Literal["BLOCKED", "CANCELLED", "DONE", "FAILED", "QUEUED", "RUNNING"]
    stage: str
    actor: str
    reason: str
    segment_lineage_entry_id: str = field(name="segmentLineageEntryId")
    attempts: int
    created_at: str = field(name="createdAt")
    started_at: str | None = field(name="startedAt")
    finished_at: str | None = field(name="finishedAt")
    files_total: int = field(name="filesTotal")
    files_done: int = field(name="filesDone")
    segments_total: int = field(name="segmentsTotal")
    segments_built: int = field(name="segmentsBuilt")
    segments_uploaded: int = field(name="segmentsUploaded")
    rows: int
    bytes: int
    stage_seconds: dict[str, float] = field(name="stageSeconds")
    uncovered_segments: list[str] = field(name="uncoveredSegments")
    error: str


class PushDetails(Struct, frozen=True, kw_only=True):
    """A push with its job specification and all its segments."""

    id: str
    cluster: str
    table_name: str = field(name="tableName")
    state: Literal["BLOCKED", "CANCELLED", "DONE", "FAILED", "QUEUED", "RUNNING"]
    stage: str
    actor: str
    reason: str
    segment_lineage_entry_id: str = field(name="segmentLineageEntryId")
    attempts: int
    created_at: str = field(name="createdAt")
    started_at: str | None = field(name="startedAt")
    finished_at: str | None = field(name="finishedAt")
    files_total: int = field(name="filesTotal")
    files_done: int = field(name="filesDone")
    segments_total: int = field(name="segmentsTotal")
    segments_built: int = field(name="segmentsBuilt")
    segments_uploaded: int = field(name="segmentsUploaded")
    rows: int
    bytes: int
    stage_seconds: dict[str, float] = field(name="stageSeconds")
    uncovered_segments: list[str] = field(name="uncoveredSegments")
    error: str
    spec: Any
    segments: list[PushedSegment]


class PushReport(Struct, frozen=True, kw_only=True):
    """What a push found in its files; ``isComplete``: all of them were read."""

    push: str
    table_name: str = field(name="tableName")
    rows_read: int = field(name="rowsRead")
    bad_rows: int = field(name="badRows")
    error_rate: float = field(name="errorRate")
    is_complete: bool = field(name="isComplete")
    ignored_columns: list[IgnoredColumn] = field(name="ignoredColumns")
    defaults: list[DefaultUsed]
    bad_values: list[BadValue] = field(name="badValues")


class PushedSegment(Struct, frozen=True, kw_only=True):
    """One segment of a push."""

    ordinal: int
    name: str
    state: str
    source: str
    rows: int
    bytes: int
    crc: int | None


class Pushes(Struct, frozen=True, kw_only=True):
    """Pushes, newest first."""

    pushes: list[Push]
