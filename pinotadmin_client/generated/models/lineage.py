"""Models of lineage.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field

from pinotadmin_client.generated.models.shared import SnapshotSummary


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


class NamedSegments(Struct, frozen=True, kw_only=True):
    """How many there are, and the first names."""

    count: int
    names: list[str]


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


class ReplicasOnline(Struct, frozen=True, kw_only=True):
    """Replicas of the new side that are served, of those that are to be; which are missing and why."""

    online: int
    wanted: int
    missing_count: int = field(name="missingCount")
    missing: list[dict[str, Any]]


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


class StartedReplacement(Struct, frozen=True, kw_only=True):
    """A replacement that was started."""

    segment_lineage_entry_id: str = field(name="segmentLineageEntryId")


class TableLineage(Struct, frozen=True, kw_only=True):
    """All entries by id, oldest first."""

    table_name_with_type: str = field(name="tableNameWithType")
    lineage_entries: dict[str, LineageEntry] = field(name="lineageEntries")


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
