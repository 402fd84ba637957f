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


class BadValue(Struct, frozen=True, kw_only=True):
    """Where a value is that does not fit."""

    file: str
    line: int | None
    row: int | None
    column: str
    value: str
    why: str


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


class Cluster(Struct, frozen=True, kw_only=True):
    """A cluster; of the embedded one only name and kind. ``state`` is of a Pinot, ``error`` why it is not up. Secrets
    are in no answer. Times are ISO 8601 in UTC."""

    name: str
    kind: Literal["embedded", "pinot"]
    controller_urls: list[str] = field(default_factory=list, name="controllerUrls")
    broker_url: str = field(default="", name="brokerUrl")
    zookeeper: str = field(default="")
    zookeeper_cluster: str = field(default="", name="zookeeperCluster")
    zookeeper_user: str = field(default="", name="zookeeperUser")
    zookeeper_secret_source: str = field(default="", name="zookeeperSecretSource")
    deep_store_url: str = field(default="", name="deepStoreUrl")
    auth: str = field(default="")
    auth_user: str = field(default="", name="authUser")
    secret_source: str = field(default="", name="secretSource")
    tls_ca: str = field(default="", name="tlsCa")
    tls_cert: str = field(default="", name="tlsCert")
    tls_key: str = field(default="", name="tlsKey")
    tls_insecure: bool = field(default=False, name="tlsInsecure")
    pinot_name: str = field(default="", name="pinotName")
    state: str = field(default="")
    state_text: str = field(default="", name="stateText")
    error: str = field(default="")
    version: str = field(default="")
    mirror_error: str = field(default="", name="mirrorError")
    calls_per_minute: int = field(default=0, name="callsPerMinute")
    state_since: str | None = field(default=None, name="stateSince")
    checked_at: str | None = field(default=None, name="checkedAt")
    mirrored_at: str | None = field(default=None, name="mirroredAt")
    mirror_error_since: str | None = field(default=None, name="mirrorErrorSince")


class Clusters(Struct, frozen=True, kw_only=True):
    """The clusters that this installation drives."""

    clusters: list[Cluster]


class ConfigWarning(Struct, frozen=True, kw_only=True):
    """A key of a config that is without effect."""

    key: str
    problem: str
    remedy: str


class DataSchema(Struct, frozen=True, kw_only=True):
    """Columns of a result."""

    column_names: list[str] = field(name="columnNames")
    column_data_types: list[str] = field(name="columnDataTypes")


class DefaultUsed(Struct, frozen=True, kw_only=True):
    """In how many rows the column's default stands for a missing value."""

    column: str
    rows: int
    value: Any


class DiffColumn(Struct, frozen=True, kw_only=True):
    """A column in both snapshots: type, range and cardinality; null: it is not in that one."""

    name: str
    changed: bool
    from_: dict[str, Any] | None = field(name="from")
    to: dict[str, Any] | None


class DiffSegments(Struct, frozen=True, kw_only=True):
    """Segments that only one of them has, or both with other rows: the first names, and how many."""

    added: list[str]
    added_count: int = field(name="addedCount")
    removed: list[str]
    removed_count: int = field(name="removedCount")
    overwritten: list[str]
    overwritten_count: int = field(name="overwrittenCount")
    same_count: int = field(name="sameCount")


class DiffSide(Struct, frozen=True, kw_only=True):
    """One of the snapshots that are compared; ``gone``: its segments that are there no more. Times are epoch ms."""

    name: str
    segments: int
    rows: int
    bytes: int
    start_ms: int | None
    end_ms: int | None
    gone_count: int = field(name="goneCount")
    gone: list[str]


class DrainEnded(Struct, frozen=True, kw_only=True):
    """A server that has its tags back, and tables whose rebalance was stopped."""

    instance: str
    stopped_rebalances: list[str] = field(name="stoppedRebalances")


class DrainState(Struct, frozen=True, kw_only=True):
    """How far a server is from empty. ``refusals``: by table, what is in the way before it begins; ``problems``: after.
    What follows ``refusals`` is of a server that is drained, or was. Times are epoch ms, 0: not yet."""

    instance: str
    state: str
    percent: int
    segments_left: int = field(name="segmentsLeft")
    tables: dict[str, HeldTable]
    refusals: dict[str, str]
    tags: list[str] = field(default_factory=list)
    rebalances: dict[str, str] = field(default={})
    problems: dict[str, str] = field(default={})
    actor: str = field(default="")
    reason: str = field(default="")
    started_ms: int = field(default=0, name="startedMs")
    finished_ms: int = field(default=0, name="finishedMs")


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


class Explanation(Struct, frozen=True, kw_only=True):
    """What a lineage entry hides and locks, what blocks its end and its revert, what happens next and who did what."""

    table: str
    segment_lineage_entry_id: str = field(name="segmentLineageEntryId")
    state: Literal["COMPLETED", "IN_PROGRESS", "REVERTED"]
    since_ms: int = field(name="sinceMs")
    actor: str
    summary: str
    segments_from: NamedSegments = field(name="segmentsFrom")
    segments_to: NamedSegments = field(name="segmentsTo")
    hides: NamedSegments
    locks: NamedSegments
    pin: PinnedBy | None
    end: Possible
    revert: Possible
    later_entries: list[str] = field(name="laterEntries")
    replicas: ReplicasOnline
    lease: dict[str, Any] | None
    job: str | None
    push: str | None
    next: list[dict[str, Any]]
    events: list[dict[str, Any]]


class ForceCommitStarted(Struct, frozen=True, kw_only=True):
    """The job that follows the commit."""

    force_commit_status: str = field(name="forceCommitStatus")
    job_meta_zkwrite_status: str = field(name="jobMetaZKWriteStatus")
    force_commit_job_id: str = field(name="forceCommitJobId")


class Heartbeat(Struct, frozen=True, kw_only=True):
    """Until when a replacement stays open (epoch ms), and how often to send a heartbeat."""

    segment_lineage_entry_id: str = field(name="segmentLineageEntryId")
    table: str
    state: Literal["COMPLETED", "IN_PROGRESS", "REVERTED"]
    leased: bool
    last_sign_ms: int = field(name="lastSignMs")
    given_up_at_ms: int = field(name="givenUpAtMs")
    heartbeat_every_seconds: float = field(name="heartbeatEverySeconds")


class HeldTable(Struct, frozen=True, kw_only=True):
    """What a server has of a table: replicas, those of them that consume, those that are switched off."""

    segments: int
    consuming: int
    switched_off: int = field(name="switchedOff")


class IgnoredColumn(Struct, frozen=True, kw_only=True):
    """A column that the schema does not have, and in how many files it is."""

    column: str
    files: int


class Instances(Struct, frozen=True, kw_only=True):
    """Names of servers and brokers."""

    instances: list[str]


class KeptSegment(Struct, frozen=True, kw_only=True):
    """A file that is kept of a deleted or replaced segment. Times are ISO 8601 in UTC."""

    segment: str
    file: str | None
    bytes: int | None
    deleted_at: str | None = field(name="deletedAt")
    deleted_by: str | None = field(name="deletedBy")
    reason: str | None
    expires_at: str | None = field(name="expiresAt")
    restorable: bool
    why: str
    replaced_by_crc: int | None = field(name="replacedByCrc")
    crc: int | None
    rows: int | None


class KeptSegments(Struct, frozen=True, kw_only=True):
    """One page of them; ``next`` is the offset of the following one."""

    table: str
    total: int
    next: int | None
    segments: list[KeptSegment]


class LagAt(Struct, frozen=True, kw_only=True):
    """A sample of the past."""

    at_ms: int = field(name="atMs")
    messages: int | None
    behind_ms: int | None = field(name="behindMs")
    rows_per_second: float | None = field(default=None, name="rowsPerSecond")


class LineageEntry(Struct, frozen=True, kw_only=True):
    """One replacement: ``segmentsTo`` stand for ``segmentsFrom``. ``timestamp``: of its last change, epoch ms."""

    segments_from: list[str] = field(name="segmentsFrom")
    segments_to: list[str] = field(name="segmentsTo")
    state: Literal["COMPLETED", "IN_PROGRESS", "REVERTED"]
    timestamp: int


class NamedSegments(Struct, frozen=True, kw_only=True):
    """How many there are, and the first names."""

    count: int
    names: list[str]


class NewToken(Struct, frozen=True, kw_only=True):
    """A token that was created: ``token`` is what is sent, and is shown here only."""

    id: int
    name: str
    owner: str
    scopes: list[str]
    cluster: str
    tables: str
    state: str
    created: str
    expires: str
    last_used: str | None = field(name="lastUsed")
    last_used_from: str | None = field(name="lastUsedFrom")
    revoked: str | None
    revoked_by: str | None = field(name="revokedBy")
    token: str = field(default="")


class PartitionLag(Struct, frozen=True, kw_only=True):
    """The lag of a partition, as its best replica has it, and samples of the last day."""

    partition: int
    segment: str | None
    messages: int | None
    behind_ms: int | None = field(name="behindMs")
    offset: str | None
    last_consumed_ms: int | None = field(name="lastConsumedMs")
    replicas: list[ReplicaLag]
    history: list[LagAt]


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


class PinnedBy(Struct, frozen=True, kw_only=True):
    """Who pinned the entry, and why."""

    actor: str
    reason: str


class Possible(Struct, frozen=True, kw_only=True):
    """Whether it is possible now, what blocks it, what to do."""

    possible: bool
    blocked_by: list[str] = field(name="blockedBy")
    remedies: list[str]


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


class ReplicaLag(Struct, frozen=True, kw_only=True):
    """How far one replica is behind the end of the stream; null: not known."""

    server: str
    consuming: bool
    offset: str | None
    messages: int | None
    behind_ms: int | None = field(name="behindMs")


class ReplicasOnline(Struct, frozen=True, kw_only=True):
    """Replicas of the new side that are served, of those that are to be; which are missing and why."""

    online: int
    wanted: int
    missing_count: int = field(name="missingCount")
    missing: list[dict[str, Any]]


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


class SchemaChanged(Struct, frozen=True, kw_only=True):
    """What was done."""

    status: str
    unrecognized_properties: dict[str, Any] = field(name="unrecognizedProperties")


class SegmentOutcome(Struct, frozen=True, kw_only=True):
    """What became of one segment, or would; ``remedy``: what to do where it was refused."""

    segment: str
    outcome: Literal["done", "failed", "refused", "unchanged"]
    message: str
    remedy: str
    bytes: int | None
    crc: int | None


class SegmentSize(Struct, frozen=True, kw_only=True):
    """Bytes of a segment on all servers together; estimated: with those of servers that do not report."""

    reported_size_in_bytes: int = field(name="reportedSizeInBytes")
    estimated_size_in_bytes: int = field(name="estimatedSizeInBytes")
    server_info: dict[str, SizeOfServer] = field(name="serverInfo")


class SegmentsChanged(Struct, frozen=True, kw_only=True):
    """What became of each segment; ``summary`` counts the outcomes."""

    table: str
    dry_run: bool = field(name="dryRun")
    summary: dict[str, int]
    segments: list[SegmentOutcome]


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


class SnapshotDiff(Struct, frozen=True, kw_only=True):
    """What is different in ``to``."""

    table: str
    from_: DiffSide = field(name="from")
    to: DiffSide
    segments: DiffSegments
    rows_change: int = field(name="rowsChange")
    bytes_change: int = field(name="bytesChange")
    columns: list[DiffColumn]
    notes: list[str]


class SnapshotSummary(Struct, frozen=True, kw_only=True):
    """What queries see: segments, rows, bytes of their files, first and last time (epoch ms, null when unknown)."""

    segments: int
    rows: int
    bytes: int
    start_ms: int | None
    end_ms: int | None


class Snooze(Struct, frozen=True, kw_only=True):
    """Until when nobody is notified of a finding, and why."""

    until: str
    actor: str
    reason: str


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


class TableHistory(Struct, frozen=True, kw_only=True):
    """Snapshots, newest first; ``more``: there are older ones (parameter ``before``)."""

    table: str
    snapshots: list[TableSnapshot]
    more: bool


class TableLag(Struct, frozen=True, kw_only=True):
    """The lag of each partition."""

    table: str
    partitions: list[PartitionLag]


class TableLineage(Struct, frozen=True, kw_only=True):
    """All entries by id, oldest first."""

    table_name_with_type: str = field(name="tableNameWithType")
    lineage_entries: dict[str, LineageEntry] = field(name="lineageEntries")


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


class TableSnapshot(Struct, frozen=True, kw_only=True):
    """What queries saw from ``at`` on. ``madeBy`` says by what, ``entries`` by which lineage entries; ``state``:
    whether the table can go back to it, ``why`` not. ``startMs`` and ``endMs``: first and last time (epoch ms).
    ``checks``: what the table's checks said of it; empty: none ran."""

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
    checks: str
    state: Literal["expired", "grown", "kept", "present", "served", "unknown"]
    why: str


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


class Token(Struct, frozen=True, kw_only=True):
    """An API token without its secret. ``tables`` is a pattern; times are ISO 8601 in UTC."""

    id: int
    name: str
    owner: str
    scopes: list[str]
    cluster: str
    tables: str
    state: str
    created: str
    expires: str
    last_used: str | None = field(name="lastUsed")
    last_used_from: str | None = field(name="lastUsedFrom")
    revoked: str | None
    revoked_by: str | None = field(name="revokedBy")


class TokenRevoked(Struct, frozen=True, kw_only=True):
    """What was done, and the ids of all tokens that are revoked now."""

    status: str
    revoked: list[int]


class Tokens(Struct, frozen=True, kw_only=True):
    """API tokens, newest first."""

    tokens: list[Token]


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
