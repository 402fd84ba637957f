"""Answers about tables, pushes, consumption, queries and the audit trail."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from segments.api.documentation.answers.replacement import Answer


class TableNames(Answer):
    """Names of tables."""

    tables: list[str]


class Status(Answer):
    """What was done, in a sentence."""

    status: str


class ConfigWarning(Answer):
    """A key of a config that is without effect."""

    key: str
    problem: str
    remedy: str


class TableChanged(Answer):
    """What was done, and what to mind."""

    status: str
    unrecognized_properties: dict[str, Any]
    warnings: list[ConfigWarning] = msgspec.field(default_factory=list)


class TableState(Answer):
    """enabled or disabled."""

    state: str


class Push(Answer):
    """A push: state, figures, seconds per stage. Times are ISO 8601 in UTC."""

    id: str
    cluster: str
    table_name: str
    state: Literal["QUEUED", "RUNNING", "BLOCKED", "DONE", "FAILED", "CANCELLED"]
    stage: str
    actor: str
    reason: str
    segment_lineage_entry_id: str
    attempts: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    files_total: int
    files_done: int
    segments_total: int
    segments_built: int
    segments_uploaded: int
    rows: int
    bytes: int
    stage_seconds: dict[str, float]
    uncovered_segments: list[str]
    error: str


class PushedSegment(Answer):
    """One segment of a push."""

    ordinal: int
    name: str
    state: str
    source: str
    rows: int
    bytes: int
    crc: int | None


class PushDetails(Push):
    """A push with its job specification and all its segments."""

    spec: Any
    segments: list[PushedSegment]


class Pushes(Answer):
    """Pushes, newest first."""

    pushes: list[Push]


class PauseStatus(Answer):
    """Whether a table is paused, why, since when, and what still consumes."""

    pause_flag: bool
    consuming_segments: list[str]
    reason_code: str | None = None
    comment: str | None = None
    timestamp: str | None = None
    description: str | None = None
    actor: str | None = None
    resume_at_ms: int | None = None
    paused_partitions: list[int] | None = None


class QueryProblem(Answer):
    """Why a query, or a part of it, failed; the codes are Pinot's."""

    error_code: int
    message: str


class DataSchema(Answer):
    """Columns of a result."""

    column_names: list[str]
    column_data_types: list[str]


class ResultTable(Answer):
    """Rows of a result."""

    data_schema: DataSchema
    rows: list[list[Any]]


class QueryAnswer(Answer):
    """Pinot's answer to a query; ``resultTable`` is missing where it failed, and ``exceptions`` say why."""

    exceptions: list[QueryProblem]
    result_table: ResultTable | None = None
    time_used_ms: int | None = None
    num_docs_scanned: int | None = None
    total_docs: int | None = None


class AuditEvent(Answer):
    """Who did, or was refused, what, when and why. What one request did has the same ``request``."""

    id: int
    at: str
    actor: str
    action: str
    cluster: str
    target: str
    outcome: str
    reason: str
    address: str | None
    detail: dict[str, Any]
    request: str = ""


class AuditEvents(Answer):
    """Newest first; ``next`` is the id to go on from (parameter ``before``), null at the end."""

    events: list[AuditEvent]
    next: int | None
