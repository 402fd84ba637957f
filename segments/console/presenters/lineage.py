"""The lineage timeline: each entry with who, why, and until when it can be taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.utils import timezone

from segments import wiring
from segments.console.presenters.badges import Mark, mark
from segments.domain.pinot.capabilities import parse_version
from segments.domain.pinot.cleanup import rollback_until_ms
from segments.domain.replacement.decisions import revert_blockers
from segments.domain.replacement.lineage import PINNED, Entry, Lineage, State
from segments.domain.replacement.rollback import built_on
from segments.domain.tables.table_config import parse_table_config
from segments.domain.upkeep.retention import rollback_deadline_ms
from segments.errors import PinotAdminError
from segments.models import AuditEvent, LineageEntry, Segment, Table
from segments.services.replacement.undo.planning import RolledBack
from segments.services.upkeep.schedules import RETENTION, next_run_ms

#: Segment names shown before a list is folded.
SHOWN = 5
_ACTIONS = ("startReplaceSegments", "endReplaceSegments", "revertReplaceSegments", "rollback", "undoRollback")


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
    everything = list(LineageEntry.objects.filter(table=table))
    lineage = Lineage(table.name, {e.entry_id: _value(e) for e in everything})
    serving = _serving(table, entries)
    events = _events(table, [e.entry_id for e in entries])
    shown, deadline_of = _shown(lineage), _deadlines(table, lineage)
    return [
        Step(
            entry=e,
            mark=mark(e.state),
            at=datetime.fromtimestamp(e.timestamp_ms / 1000, UTC),
            events=events.get(e.entry_id, []),
            until=deadline_of(lineage.entries[e.entry_id]),
            why_not=_why_not(lineage, lineage.entries[e.entry_id], serving),
            undo_until=undo_until.get(e.entry_id),
            is_current=e.entry_id in shown,
            is_replaced_again=e.state == State.COMPLETED and len(built_on(lineage, lineage.entries[e.entry_id])) > 1,
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
    names = {s for e in entries if e.state == State.COMPLETED for s in e.segments_from}
    rows = Segment.objects.filter(table=table, name__in=names).values_list("name", "replicas_online") if names else []
    return {name: online > 0 for name, online in rows}


def _events(table: Table, ids: list[str]) -> dict[str, list[AuditEvent]]:
    found: dict[str, list[AuditEvent]] = {}
    for event in AuditEvent.objects.filter(
        cluster=table.cluster.name, target=table.name, action__in=_ACTIONS, outcome="done", detail__entry__in=ids
    ):
        found.setdefault(event.detail["entry"], []).append(event)
    return found


def _why_not(lineage: Lineage, entry: Entry, serving: dict[str, bool]) -> str:
    if entry.state is State.REVERTED:
        return "Already taken back."
    blockers = revert_blockers(lineage, entry, serving)
    return str(blockers[0]) if blockers else ""


def _shown(lineage: Lineage) -> set[str]:
    """Ids of the entries whose new side queries see, at least in part: after a rollback not simply the newest that is
    completed.
    """
    hidden = lineage.hidden()
    return {
        e.id for e in lineage.entries.values() if e.state is State.COMPLETED and not hidden.issuperset(e.segments_to)
    }


def _deadlines(table: Table, lineage: Lineage) -> Callable[[Entry], datetime | None]:
    """Until when an entry can be taken back, as far as it is known."""
    try:
        config = parse_table_config(table.config)
    except PinotAdminError:
        return lambda entry: None
    now_ms, mentioned = int(timezone.now().timestamp() * 1000), lineage.mentioned()
    is_ours = wiring.offers_of(table.cluster).own_upkeep
    next_pass_ms = next_run_ms(RETENTION) if is_ours else None

    def deadline_of(entry: Entry) -> datetime | None:
        if is_ours:
            until = rollback_deadline_ms(lineage, entry, config, mentioned, now_ms, next_pass_ms)
        else:
            until = rollback_until_ms(entry, config, parse_version(table.cluster.version))
        return datetime.fromtimestamp(until / 1000, UTC) if until is not None else None

    return deadline_of
