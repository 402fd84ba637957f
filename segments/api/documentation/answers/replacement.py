"""Answers about lineage entries: replacements, rollbacks, undos, checks."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

State = Literal["IN_PROGRESS", "COMPLETED", "REVERTED"]


class Answer(msgspec.Struct, rename="camel"):
    """Base of answers with camelCase keys. An answer may have more keys than are named."""


class SnapshotSummary(msgspec.Struct):
    """What queries see: segments, rows, bytes of their files, first and last time (epoch ms, null when unknown)."""

    segments: int
    rows: int
    bytes: int
    start_ms: int | None
    end_ms: int | None


class StartedReplacement(Answer):
    """A replacement that was started."""

    segment_lineage_entry_id: str


class LineageEntry(Answer):
    """One replacement: ``segmentsTo`` stand for ``segmentsFrom``. ``timestamp``: of its last change, epoch ms."""

    segments_from: list[str]
    segments_to: list[str]
    state: State
    timestamp: int


class TableLineage(Answer):
    """All entries by id, oldest first."""

    table_name_with_type: str
    lineage_entries: dict[str, LineageEntry]


class RevertPreview(msgspec.Struct):
    """The effect of reverting one entry now; allowed when there are no ``blockers``."""

    entry_id: str
    table: str
    state: State
    allowed: bool
    needs_force: bool
    blockers: list[str]
    before: SnapshotSummary
    after: SnapshotSummary
    deleted_segments: list[str]
    possible_until_ms: int | None
    undo_until_ms: int | None
    notes: list[str]


class RollbackStep(msgspec.Struct):
    """One entry that a rollback reverts."""

    entry_id: str
    state: State
    timestamp_ms: int
    segments_from: int
    segments_to: int
    pinned: bool


class RollbackPreview(msgspec.Struct):
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


class RollbackDone(Answer):
    """A rollback: the entries that were reverted, newest first; until when it can be undone (epoch ms)."""

    table: str
    reverted: list[str]
    deleted_segments: list[str]
    undo_possible_until_ms: int | None


class UndoPreview(msgspec.Struct):
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


class UndoDone(Answer):
    """An undo: ``segmentLineageEntryId`` is the new entry; ``returnedSegments`` are seen again."""

    table: str
    segment_lineage_entry_id: str
    undone: list[str]
    returned_segments: list[str]
    hidden_segments: list[str]
    rollback_possible_until_ms: int | None


class Pin(Answer):
    """Whether an entry is pinned, by whom and why."""

    segment_lineage_entry_id: str
    table: str
    pinned: bool
    actor: str
    reason: str
    missing_segments: list[str]


class Heartbeat(Answer):
    """Until when a replacement stays open (epoch ms), and how often to send a heartbeat."""

    segment_lineage_entry_id: str
    table: str
    state: State
    leased: bool
    last_sign_ms: int
    given_up_at_ms: int
    heartbeat_every_seconds: float


class CheckOutcome(msgspec.Struct):
    """One check: measured and allowed value as text."""

    name: str
    kind: str
    level: str
    passed: bool
    measured: str
    allowed: str
    error: str


class CheckReport(Answer):
    """What the checks of a snapshot found; ``status``: passed, warned, overridden or blocked."""

    table: str
    entry: str
    status: Literal["passed", "warned", "overridden", "blocked"]
    ran_at_ms: int
    took_ms: int
    segments: int
    override: str
    actor: str
    preview: bool
    checks: list[CheckOutcome]


class EndJob(Answer):
    """The end of a replacement in the background. Times in epoch ms."""

    id: str
    kind: str
    table: str
    segment_lineage_entry_id: str
    state: str
    message: str
    actor: str
    reason: str
    requested_ms: int
    deadline_ms: int
    finished_ms: int | None
    replicas_online: int
    replicas_wanted: int
    missing: list[dict[str, Any]]
    missing_count: int
