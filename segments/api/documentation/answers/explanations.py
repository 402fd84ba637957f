"""Answers that explain a lineage entry, and that compare two snapshots."""

from __future__ import annotations

from typing import Any

import msgspec

from segments.api.documentation.answers.replacement import Answer, State


class NamedSegments(Answer):
    """How many there are, and the first names."""

    count: int
    names: list[str]


class Possible(Answer):
    """Whether it is possible now, what blocks it, what to do."""

    possible: bool
    blocked_by: list[str]
    remedies: list[str]


class ReplicasOnline(Answer):
    """Replicas of the new side that are served, of those that are to be; which are missing and why."""

    online: int
    wanted: int
    missing_count: int
    missing: list[dict[str, Any]]


class PinnedBy(Answer):
    """Who pinned the entry, and why."""

    actor: str
    reason: str


class Explanation(Answer):
    """What a lineage entry hides and locks, what blocks its end and its revert, what happens next and who did what."""

    table: str
    segment_lineage_entry_id: str
    state: State
    since_ms: int
    actor: str
    summary: str
    segments_from: NamedSegments
    segments_to: NamedSegments
    hides: NamedSegments
    locks: NamedSegments
    pin: PinnedBy | None
    end: Possible
    revert: Possible
    later_entries: list[str]
    replicas: ReplicasOnline
    lease: dict[str, Any] | None
    job: str | None
    push: str | None
    next: list[dict[str, Any]]
    events: list[dict[str, Any]]


class DiffSide(msgspec.Struct):
    """One of the snapshots that are compared; ``gone``: its segments that are there no more. Times are epoch ms."""

    name: str
    segments: int
    rows: int
    bytes: int
    start_ms: int | None
    end_ms: int | None
    gone_count: int = msgspec.field(name="goneCount")
    gone: list[str]


class DiffSegments(Answer):
    """Segments that only one of them has, or both with other rows: the first names, and how many."""

    added: list[str]
    added_count: int
    removed: list[str]
    removed_count: int
    overwritten: list[str]
    overwritten_count: int
    same_count: int


class DiffColumn(Answer):
    """A column in both snapshots: type, range and cardinality; null: it is not in that one."""

    name: str
    changed: bool
    before: dict[str, Any] | None = msgspec.field(name="from")
    after: dict[str, Any] | None = msgspec.field(name="to")


class SnapshotDiff(Answer):
    """What is different in ``to``."""

    table: str
    before: DiffSide = msgspec.field(name="from")
    after: DiffSide = msgspec.field(name="to")
    segments: DiffSegments
    rows_change: int
    bytes_change: int
    columns: list[DiffColumn]
    notes: list[str]
