"""The lineage timeline: each entry with who, why, and until when it can be taken back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from django.utils import timezone

from segments import wiring
from segments.console.presenters.badges import Mark, mark
from segments.domain.pinot.capabilities import parse_version
from segments.domain.pinot.cleanup import rollback_until_ms
from segments.domain.replacement.decisions import revert_blockers
from segments.domain.replacement.lineage import LIVE, PINNED, Entry, Lineage, State
from segments.domain.replacement.rollback import replacing
from segments.domain.tables.table_config import parse_table_config
from segments.domain.upkeep.retention import CleanUps
from segments.errors import PinotAdminError
from segments.models import AuditEvent, LineageEntry, Segment, Table
from segments.services.replacement.undo.planning import RolledBack
from segments.services.upkeep.schedules import RETENTION, next_run_ms

_ACTIONS = ("startReplaceSegments", "endReplaceSegments", "revertReplaceSegments", "rollback", "undoRollback")
#: SQLite takes at most 32,766 values in one statement.
_AT_ONCE: Final = 5_000


@dataclass(frozen=True)
class Step:
    """One entry of the timeline. ``why_not`` is empty when it can be taken back until ``until`` (None: no deadline
    known).

    ``undo_until``: until when its rollback can be undone; None: there is none to undo.
    """

    entry: LineageEntry
    mark: Mark
    at: datetime
    events: list[AuditEvent] = field(default_factory=list)
    until: datetime | None = None
    why_not: str = ""
    undo_until: datetime | None = None
    is_current: bool = False
    is_replaced_again: bool = False

    @property
    def is_pinned(self) -> bool:
        """Is it kept from every clean-up?"""
        return bool(self.entry.notes.get(PINNED) == "true")


def timeline(table: Table, entries: Sequence[LineageEntry], undos: Sequence[RolledBack] = ()) -> list[Step]:
    """Steps for a page of entries. Blockers are judged on the whole lineage as mirrored; the preview reads the
    truth.

    ``undos``: rollbacks that can be undone.
    """
    undo_until = {entry: datetime.fromtimestamp(u.until_ms / 1000, UTC) for u in undos for entry in u.entries}
    others = LineageEntry.objects.filter(table=table).exclude(pk__in=[e.pk for e in entries])
    lineage = Lineage(table.name, {e.entry_id: _value(e) for e in (*entries, *others)})
    later = _later(lineage, entries)
    serving = _serving(table, [e for e in entries if not later[e.entry_id]])
    events = _events(table, [e.entry_id for e in entries])
    shown, deadline_of = _shown(lineage), _deadlines(table, lineage)
    return [
        Step(
            entry=e,
            mark=mark(e.state),
            at=datetime.fromtimestamp(e.timestamp_ms / 1000, UTC),
            events=events.get(e.entry_id, []),
            until=deadline_of(lineage.entries[e.entry_id]),
            why_not=_why_not(lineage, lineage.entries[e.entry_id], later[e.entry_id], serving),
            undo_until=undo_until.get(e.entry_id),
            is_current=e.entry_id in shown,
            is_replaced_again=e.state == State.COMPLETED and bool(later[e.entry_id]),
        )
        for e in entries
    ]


def _value(row: LineageEntry) -> Entry:
    return Entry(
        row.entry_id,
        tuple(row.segments_from),
        tuple(row.segments_to),
        State(row.state),
        row.timestamp_ms,
        notes=row.notes,
    )


def _serving(table: Table, entries: Iterable[LineageEntry]) -> dict[str, bool]:
    """Of the old sides that are there: is a replica of the segment online?"""
    names = sorted({s for e in entries if e.state == State.COMPLETED for s in e.segments_from})
    rows = Segment.objects.filter(table=table).order_by().values_list("name", "replicas_online")
    pieces = (rows.filter(name__in=names[at : at + _AT_ONCE]) for at in range(0, len(names), _AT_ONCE))
    return {name: online > 0 for piece in pieces for name, online in piece}


def _events(table: Table, ids: list[str]) -> dict[str, list[AuditEvent]]:
    found: dict[str, list[AuditEvent]] = {}
    for event in AuditEvent.objects.filter(
        cluster=table.cluster.name, target=table.name, action__in=_ACTIONS, outcome="done", detail__entry__in=ids
    ):
        found.setdefault(event.detail["entry"], []).append(event)
    return found


def _why_not(lineage: Lineage, entry: Entry, later: Collection[str], serving: dict[str, bool]) -> str:
    """``later``: the entries that replaced it again. No other entry blocks it; and where there are some, they are the
    reason, whether or not its old side is served.
    """
    if entry.state is State.REVERTED:
        return "Already taken back."
    concerned = replace(lineage, entries={i: lineage.entries[i] for i in (entry.id, *later)})
    blockers = revert_blockers(concerned, entry, serving)
    return str(blockers[0]) if blockers else ""


def _shown(lineage: Lineage) -> set[str]:
    """Ids of the entries whose new side queries see, at least in part: after a rollback not simply the newest that is
    completed.
    """
    hidden = lineage.hidden()
    return {
        e.id for e in lineage.entries.values() if e.state is State.COMPLETED and not hidden.issuperset(e.segments_to)
    }


def _later(lineage: Lineage, entries: Sequence[LineageEntry]) -> dict[str, set[str]]:
    """{entry: those that are not reverted and replaced something of its new side}"""
    live = [e for e in lineage.entries.values() if e.state in LIVE]
    by: dict[str, str] = {}
    for entry in live:
        by.update(dict.fromkeys(entry.segments_from, entry.id))
    if len(by) == sum(len(e.segments_from) for e in live):  # nothing was replaced twice, as is usual: no list per name
        return {e.entry_id: {by[s] for s in e.segments_to if s in by} - {e.entry_id} for e in entries}
    found = replacing(live)
    return {e.entry_id: {i for s in e.segments_to for i in found.get(s, ())} - {e.entry_id} for e in entries}


def _deadlines(table: Table, lineage: Lineage) -> Callable[[Entry], datetime | None]:
    """Until when an entry can be taken back, as far as it is known."""
    try:
        config = parse_table_config(table.config)
    except PinotAdminError:
        return lambda entry: None
    now_ms, clean_ups = int(timezone.now().timestamp() * 1000), CleanUps(lineage, config, lineage.mentioned())
    is_ours = wiring.offers_of(table.cluster).own_upkeep
    next_pass_ms = next_run_ms(RETENTION) if is_ours else None

    def deadline_of(entry: Entry) -> datetime | None:
        if is_ours:
            until = clean_ups.rollback_deadline_ms(entry, now_ms, next_pass_ms)
        else:
            until = rollback_until_ms(entry, config, parse_version(table.cluster.version))
        return datetime.fromtimestamp(until / 1000, UTC) if until is not None else None

    return deadline_of
