"""A page of a table's history: a bar for each snapshot, in words who made it and how, and what can be done with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from segments.console.presenters.badges import Mark
from segments.domain.replacement.history.origin import Kind
from segments.models import IngestionSession, LineageEntry, Push, Snapshot, Table
from segments.services.replacement.history.causes import Cause
from segments.services.replacement.history.standing import Standing

#: Width of a bar of the page's largest snapshot.
WIDTH: Final = 100
_LEAST: Final = 0.6

_MADE: Final = {
    Kind.FIRST: "First snapshot on record",
    Kind.SWITCH: "New data",
    Kind.ROLLBACK: "Rolled back",
    Kind.UNDO: "Rollback undone",
    Kind.RETURN: "Went back to an older snapshot",
    Kind.UPLOAD: "Segments uploaded",
    Kind.DELETE: "Segments deleted",
    Kind.CHANGE: "Segments changed",
    Kind.COMMIT: "Committed from the stream",
}
_RETURNS: Final = (Kind.ROLLBACK, Kind.UNDO, Kind.RETURN)
_MARKS: Final = {
    "present": Mark("what queries see", "ok", "check"),
    "grown": Mark("queries see it, and later rows", "ok", "check"),
    "served": Mark("on servers", "busy", "dot"),
    "kept": Mark("files kept", "idle", "clock"),
    "expired": Mark("expired", "idle", "cross"),
    "unknown": Mark("not checked", "idle", "alert"),
}


@dataclass(frozen=True)
class Bar:
    """One snapshot. ``width``: of its bar, in percent of the page's largest. ``cause``: who made it and why, where that
    is on record. ``entries``: (lineage entry, is it still in the lineage?). ``pin``: the lineage entry that keeps it;
    empty: none does. ``unseen``: switches before it that were not seen one by one. ``undo``: the snapshot that queries
    saw before somebody went back to this one; 0: nobody did, or it is not known or gone. ``undo_until``: how long its
    files are kept.
    """

    row: Snapshot
    made: str
    mark: Mark
    standing: Standing
    width: float
    cause: Cause | None
    has_push: bool
    has_session: bool
    entries: list[tuple[str, bool]]
    pin: str
    is_pinned: bool
    unseen: int
    undo: int = 0
    undo_until: datetime | None = None

    @property
    def is_present(self) -> bool:
        """Do queries see it?"""
        return self.standing.state == "present"

    @property
    def is_seen(self) -> bool:
        """Do queries see all of it, so that there is nothing to go back to?"""
        return self.standing.state in ("present", "grown")

    @property
    def is_expired(self) -> bool:
        """Is something of it gone for good?"""
        return self.standing.state == "expired"

    @property
    def compared(self) -> int:
        """The snapshot before it; 0: there is none."""
        return self.row.number - 1

    @property
    def reason(self) -> str:
        """What somebody wrote; empty where the record only names the push, to which the page leads anyway."""
        given = self.cause.reason if self.cause else ""
        return "" if given == f"push {self.row.push}" else given

    @property
    def of_snapshot(self) -> str:
        """What the address of its pin carries, so that its page speaks of the snapshot and leads back here."""
        return f"?snapshot={self.row.number}"

    @property
    def is_readable(self) -> bool:
        """Can queries read it, from servers or from kept files?"""
        return self.standing.state in ("present", "grown", "served", "kept")


def bars(
    table: Table,
    rows: Sequence[Snapshot],
    left: Mapping[int, Standing],
    causes: Mapping[int, Cause],
    undo_kept: timedelta = timedelta(),
) -> list[Bar]:
    """A page of snapshots, newest first. ``undo_kept``: how long what a return removes is kept."""
    pinned = _pinned(table, {e for r in rows for e in r.entries})
    made_by = [r.push for r in rows if r.push]
    pushes = {str(pk) for pk in Push.objects.filter(pk__in=made_by).values_list("pk", flat=True)}
    sessions = IngestionSession.objects.filter(table=table, session_id__in=[r.session for r in rows if r.session])
    ingested = set(sessions.values_list("session_id", flat=True))
    most = max((r.rows for r in rows), default=0)
    found = []
    newer: Snapshot | None = None
    for row in rows:
        standing = left.get(row.number, Standing("unknown"))
        pin = _keeper(row, newer, pinned)
        found.append(
            Bar(
                row=row,
                made=_MADE[Kind(row.kind)],
                mark=_MARKS[standing.state],
                standing=standing,
                width=max(_LEAST, round(WIDTH * row.rows / most, 1)) if row.rows and most else 0,
                cause=causes.get(row.number),
                has_push=row.push in pushes,
                has_session=row.session in ingested,
                entries=[(entry, entry in pinned) for entry in row.entries],
                pin=pin,
                is_pinned=pinned.get(pin, False),
                unseen=row.switches - 1,
            )
        )
        newer = row
    return _with_undo(found, undo_kept)


def _with_undo(found: list[Bar], kept: timedelta) -> list[Bar]:
    """The present one, where somebody went back to it, with the snapshot that queries saw before."""
    if len(found) < 2 or not found[0].is_present or Kind(found[0].row.kind) not in _RETURNS:
        return found
    now, wanted = found[0], _seen_before(*found[:2])
    before = next((b for b in found[1:] if b.row.number == wanted), None)
    if before is None or before.standing.state not in ("served", "kept"):
        return found
    until = now.row.at + kept if kept else None
    return [replace(now, undo=before.row.number, undo_until=until), *found[1:]]


def _seen_before(now: Bar, before: Bar) -> int:
    """By the audit of the return; else the snapshot before, where one switch led from there. Two switches of the same
    person for the same reason may be one return: what was seen between is not what was seen before.
    """
    if now.cause is not None and now.cause.came_from:
        return now.cause.came_from
    return 0 if now.row.switches != 1 or _who(now) == _who(before) else before.row.number


def _who(bar: Bar) -> tuple[str, str] | None:
    return (bar.cause.actor, bar.cause.reason) if bar.cause else None


def _pinned(table: Table, entries: Collection[str]) -> dict[str, bool]:
    """{entry of the lineage: is it pinned?}"""
    listed = LineageEntry.objects.filter(table=table, entry_id__in=sorted(entries)).values_list("entry_id", "notes")
    return {entry: notes.get("pinned") == "true" for entry, notes in listed}


def _keeper(row: Snapshot, newer: Snapshot | None, known: Collection[str]) -> str:
    """The entry that made it or, where that has left the lineage, the one that replaced it."""
    wanted = [*row.entries, *(newer.entries if newer is not None else ())]
    return next((e for e in wanted if e in known), "")
