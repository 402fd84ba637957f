"""Answers of the API as typed models.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field


class AuditEvent(Struct, frozen=True, kw_only=True):
    """Who did, or was refused, what, when and why."""

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


class AuditEvents(Struct, frozen=True, kw_only=True):
    """Newest first; ``next`` is the id to go on from (parameter ``before``), null at the end."""

    events: list[AuditEvent]
    next: int | None


class CheckOutcome(Struct, frozen=True, kw_only=True):
    """One check: measured and allowed value as text."""

    name: str
    kind: str
    level: str
    passed: bool
    measured: str
    allowed: str
    error: str


class CheckReport(Struct, frozen=True, kw_only=True):
    """What the checks of a snapshot found; ``status``: passed, warned, overridden or blocked."""

    table: str
    entry: str
    status: Literal["blocked", "overridden", "passed", "warned"]
    ran_at_ms: int = field(name="ranAtMs")
    took_ms: int = field(name="tookMs")
    segments: int
    override: str
    actor: str
    preview: bool
    checks: list[CheckOutcome]


class ConfigWarning(Struct, frozen=True, kw_only=True):
    """A key of a config that is without effect."""

    key: str
    problem: str
    remedy: str


class DataSchema(Struct, frozen=True, kw_only=True):
    """Columns of a result."""

    column_names: list[str] = field(name="columnNames")
    column_data_types: list[str] = field(name="columnDataTypes")


class EndJob(Struct, frozen=True, kw_only=True):
    """The end of a replacement in the background. Times in epoch ms."""

    id: str
    kind: str
    table: str
    segment_lineage_entry_id: str = field(name="segmentLineageEntryId")
    state: str
    message: str
    actor: str
    reason: str
    requested_ms: int = field(name="requestedMs")
    deadline_ms: int = field(name="deadlineMs")
    finished_ms: int | None = field(name="finishedMs")
    replicas_online: int = field(name="replicasOnline")
    replicas_wanted: int = field(name="replicasWanted")
    missing: list[dict[str, Any]]
    missing_count: int = field(name="missingCount")


class Heartbeat(Struct, frozen=True, kw_only=True):
    """Until when a replacement stays open (epoch ms), and how often to send a heartbeat."""

    segment_lineage_entry_id: str = field(name="segmentLineageEntryId")
    table: str
    state: Literal["COMPLETED", "IN_PROGRESS", "REVERTED"]
    leased: bool
    last_sign_ms: int = field(name="lastSignMs")
    given_up_at_ms: int = field(name="givenUpAtMs")
    heartbeat_every_seconds: float = field(name="heartbeatEverySeconds")


class LineageEntry(Struct, frozen=True, kw_only=True):
    """One replacement: ``segmentsTo`` stand for ``segmentsFrom``. ``timestamp``: of its last change, epoch ms."""

    segments_from: list[str] = field(name="segmentsFrom")
    segments_to: list[str] = field(name="segmentsTo")
    state: Literal["COMPLETED", "IN_PROGRESS", "REVERTED"]
    timestamp: int


class PauseStatus(Struct, frozen=True, kw_only=True):
    """Whether a table is paused, why, since when, and what still consumes."""

    pause_flag: bool = field(name="pauseFlag")
    consuming_segments: list[str] = field(name="consumingSegments")
    reason_code: str | None = field(default=None, name="reasonCode")
    comment: str | None = field(default=None)
    timestamp: str | None = field(default=None)
    description: str | None = field(default=None)
    actor: str | None = field(default=None)
    resume_at_ms: int | None = field(default=None, name="resumeAtMs")
    paused_partitions: list[int] | None = field(default=None, name="pausedPartitions")


class Pin(Struct, frozen=True, kw_only=True):
    """Whether an entry is pinned, by whom and why."""

    segment_lineage_entry_id: str = field(name="segmentLineageEntryId")
    table: str
    pinned: bool
    actor: str
    reason: str
    missing_segments: list[str] = field(name="missingSegments")


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


class QueryAnswer(Struct, frozen=True, kw_only=True):
    """Pinot's answer to a query; ``resultTable`` is missing where it failed, and ``exceptions`` say why."""

    exceptions: list[QueryProblem]
    result_table: ResultTable | None = field(default=None, name="resultTable")
    time_used_ms: int | None = field(default=None, name="timeUsedMs")
    num_docs_scanned: int | None = field(default=None, name="numDocsScanned")
    total_docs: int | None = field(default=None, name="totalDocs")


class QueryProblem(Struct, frozen=True, kw_only=True):
    """Why a query, or a part of it, failed; the codes are Pinot's."""

    error_code: int = field(name="errorCode")
    message: str


class ResultTable(Struct, frozen=True, kw_only=True):
    """Rows of a result."""

    data_schema: DataSchema = field(name="dataSchema")
    rows: list[list[Any]]


class ReturnDone(Struct, frozen=True, kw_only=True):
    """Queries see snapshot ``number``; going back to ``undo`` undoes it, until then (epoch ms)."""

    table: str
    number: int
    entries: list[str]
    undo: int
    undo_until_ms: int | None


class ReturnPreview(Struct, frozen=True, kw_only=True):
    """The effect of going to a snapshot; allowed when there are no ``blockers``. Of long lists of segments the first
    are named, and all counted."""

    table: str
    number: int
    present: int
    allowed: bool
    blockers: list[str]
    steps: list[str]
    before: SnapshotSummary
    after: SnapshotSummary
    returning_segments: list[str]
    leaving_segments: list[str]
    returning_count: int
    leaving_count: int
    undo_until_ms: int | None
    notes: list[str]


class RollbackDone(Struct, frozen=True, kw_only=True):
    """A rollback: the entries that were reverted, newest first; until when it can be undone (epoch ms)."""

    table: str
    reverted: list[str]
    deleted_segments: list[str] = field(name="deletedSegments")
    undo_possible_until_ms: int | None = field(name="undoPossibleUntilMs")


class RollbackPreview(Struct, frozen=True, kw_only=True):
    """The effect of a rollback to before ``target``; allowed when there are no ``blockers``."""

    table: str
    target: str
    allowed: bool
    needs_force: bool
    blockers: list[str]
    steps: list[RollbackStep]
    before: SnapshotSummary
    after: SnapshotSummary
    deleted_segments: list[str]
    kept_segments: list[str]
    undo_until_ms: int | None
    notes: list[str]


class RollbackStep(Struct, frozen=True, kw_only=True):
    """One entry that a rollback reverts."""

    entry_id: str
    state: Literal["COMPLETED", "IN_PROGRESS", "REVERTED"]
    timestamp_ms: int
    segments_from: int
    segments_to: int
    pinned: bool


class SnapshotSummary(Struct, frozen=True, kw_only=True):
    """What queries see: segments, rows, bytes of their files, first and last time (epoch ms, null when unknown)."""

    segments: int
    rows: int
    bytes: int
    start_ms: int | None
    end_ms: int | None


class StartedReplacement(Struct, frozen=True, kw_only=True):
    """A replacement that was started."""

    segment_lineage_entry_id: str = field(name="segmentLineageEntryId")


class Status(Struct, frozen=True, kw_only=True):
    """What was done, in a sentence."""

    status: str


class TableChanged(Struct, frozen=True, kw_only=True):
    """What was done, and what to mind."""

    status: str
    unrecognized_properties: dict[str, Any] = field(name="unrecognizedProperties")
    warnings: list[ConfigWarning] = field(default_factory=list)


class TableHistory(Struct, frozen=True, kw_only=True):
    """Snapshots, newest first; ``more``: there are older ones (parameter ``before``)."""

    table: str
    snapshots: list[TableSnapshot]
    more: bool


class TableLineage(Struct, frozen=True, kw_only=True):
    """All entries by id, oldest first."""

    table_name_with_type: str = field(name="tableNameWithType")
    lineage_entries: dict[str, LineageEntry] = field(name="lineageEntries")


class TableNames(Struct, frozen=True, kw_only=True):
    """Names of tables."""

    tables: list[str]


class TableSnapshot(Struct, frozen=True, kw_only=True):
    """What queries saw from ``at`` on. ``madeBy`` says by what, ``entries`` by which lineage entries; ``state``:
    whether it can be gone back to, ``why`` not. ``startMs`` and ``endMs``: first and last time (epoch ms)."""

    number: int
    at: str
    made_by: str = field(name="madeBy")
    entries: list[str]
    unseen_switches: int = field(name="unseenSwitches")
    segments: int
    rows: int
    bytes: int
    start_ms: int | None = field(name="startMs")
    end_ms: int | None = field(name="endMs")
    actor: str
    reason: str
    push: str
    session: str
    state: Literal["expired", "grown", "kept", "present", "served", "unknown"]
    why: str


class TableState(Struct, frozen=True, kw_only=True):
    """enabled or disabled."""

    state: str


class UndoDone(Struct, frozen=True, kw_only=True):
    """An undo: ``segmentLineageEntryId`` is the new entry; ``returnedSegments`` are seen again."""

    table: str
    segment_lineage_entry_id: str = field(name="segmentLineageEntryId")
    undone: list[str]
    returned_segments: list[str] = field(name="returnedSegments")
    hidden_segments: list[str] = field(name="hiddenSegments")
    rollback_possible_until_ms: int | None = field(name="rollbackPossibleUntilMs")


class UndoPreview(Struct, frozen=True, kw_only=True):
    """The effect of undoing a rollback; allowed when there are no ``blockers``."""

    table: str
    entry_id: str
    allowed: bool
    needs_force: bool
    blockers: list[str]
    undoes: list[str]
    rolled_back_ms: int
    before: SnapshotSummary
    after: SnapshotSummary
    returning_segments: list[str]
    hidden_segments: list[str]
    possible_until_ms: int | None
    under_way: str
    notes: list[str]
