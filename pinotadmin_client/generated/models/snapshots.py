"""Models of snapshots.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from pinotadmin_client.generated.models.shared import SnapshotSummary


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


class TableHistory(Struct, frozen=True, kw_only=True):
    """Snapshots, newest first; ``more``: there are older ones (parameter ``before``)."""

    table: str
    snapshots: list[TableSnapshot]
    more: bool


class TableSnapshot(Struct, frozen=True, kw_only=True):
    """What queries saw from ``at`` on. ``madeBy`` says by what, ``entries`` by which lineage entries; ``state``:
    whether the table can go back to it, ``why`` not. ``startMs`` and ``endMs``: first and last time (epoch ms).
    ``checks``: what the table's checks said of it; empty: none ran. ``decidedBy`` and ``decision``: who switched to it
    although they failed, and why; empty: nobody had to."""

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
    decided_by: str = field(name="decidedBy")
    decision: str
    push: str
    session: str
    checks: str
    state: Literal["expired", "grown", "kept", "present", "served", "unknown"]
    why: str
