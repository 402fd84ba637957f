"""Answers about the history of a table: its snapshots, and going back to one."""

from __future__ import annotations

from typing import Literal

import msgspec

from segments.api.documentation.answers.replacement import Answer, SnapshotSummary


class TableSnapshot(Answer):
    """What queries saw from ``at`` on. ``madeBy`` says by what, ``entries`` by which lineage entries; ``state``:
    whether the table can go back to it, ``why`` not. ``startMs`` and ``endMs``: first and last time (epoch ms).
    ``checks``: what the table's checks said of it; empty: none ran. ``decidedBy`` and ``decision``: who switched to it
    although they failed, and why; empty: nobody had to.
    """

    number: int
    at: str
    made_by: str
    entries: list[str]
    unseen_switches: int
    segments: int
    rows: int
    bytes: int
    start_ms: int | None
    end_ms: int | None
    actor: str
    reason: str
    decided_by: str
    decision: str
    push: str
    session: str
    checks: str
    state: Literal["present", "grown", "served", "kept", "expired", "unknown"]
    why: str


class TableHistory(Answer):
    """Snapshots, newest first; ``more``: there are older ones (parameter ``before``)."""

    table: str
    snapshots: list[TableSnapshot]
    more: bool


class ReturnPreview(msgspec.Struct):
    """The effect of going to a snapshot; allowed when there are no ``blockers``. Of long lists of segments the first
    are named, and all counted.
    """

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


class ReturnDone(msgspec.Struct):
    """Queries see snapshot ``number``; going back to ``undo`` undoes it, until then (epoch ms)."""

    table: str
    number: int
    entries: list[str]
    undo: int
    undo_until_ms: int | None
