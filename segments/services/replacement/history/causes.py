"""Who made a snapshot and why, from the audit; written into the history before the audit's events are deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from segments.domain.replacement.history.contents import unpack_changes
from segments.domain.replacement.history.origin import Kind
from segments.models import AuditEvent, Snapshot

_OF_ENTRIES: Final = {
    Kind.SWITCH: ("endReplaceSegments", "startReplaceSegments"),
    Kind.ROLLBACK: ("restoreSnapshot", "rollback", "revertReplaceSegments"),
    Kind.UNDO: ("restoreSnapshot", "undoRollback"),
    Kind.RETURN: ("restoreSnapshot", "restoreSwitch"),
}
_OF_SEGMENTS: Final = {
    Kind.UPLOAD: ("uploadSegments", "restoreSegments"),
    Kind.DELETE: ("deleteSegments",),
    Kind.CHANGE: ("uploadSegments", "restoreSegments", "deleteSegments"),
}
_OVERRIDE: Final = "overrideChecks"
#: What is on record of the checks of a switch that somebody decided on although they failed.
_OVERRIDDEN: Final = "overridden"
#: The mirror sees a change within this time, and a change is audited within this time.
_NEAR: Final = timedelta(seconds=30)
_AT_ONCE: Final = 200


@dataclass(frozen=True)
class Cause:
    """Who, why, and the audit's event; None: it is not there any more. ``came_from``: the snapshot that queries saw
    before somebody went back to this one; 0: nobody did, or it is not on record. ``decided_by`` and ``decision``: who
    switched to it although the table's checks failed, and why; empty: nobody had to.
    """

    actor: str
    reason: str
    event: int | None = None
    came_from: int = 0
    decided_by: str = ""
    decision: str = ""


def causes_of(rows: Sequence[Snapshot]) -> dict[int, Cause]:
    """{number: who made it} of snapshots of one table, as far as it is on record; with the audit's event as long as it
    is there.
    """
    if not rows:
        return {}
    known = {r.number: Cause(r.actor, r.reason, decided_by=r.decided_by, decision=r.decision) for r in rows if r.actor}
    audited = {**_by_entries(rows), **_by_segments(rows)}
    return known | {n: cause for n, cause in audited.items() if n not in known or known[n].actor == cause.actor}


def note_causes() -> int:
    """Write into the history what the audit says of snapshots that name nobody yet; how many that were."""
    noted = 0
    nameless = Snapshot.objects.filter(actor="").defer("changes", "whole", "states").select_related("cluster")
    tables = nameless.order_by().values_list("cluster_id", "table_name").distinct()
    for cluster, table in list(tables):
        rows = nameless.filter(cluster_id=cluster, table_name=table)
        keys = list(rows.order_by("pk").values_list("pk", flat=True))
        for start in range(0, len(keys), _AT_ONCE):
            piece = list(rows.filter(pk__in=keys[start : start + _AT_ONCE]))
            for number, cause in causes_of(piece).items():
                noted += rows.filter(number=number).update(
                    actor=cause.actor, reason=cause.reason, decided_by=cause.decided_by, decision=cause.decision
                )
    return noted


def _by_entries(rows: Sequence[Snapshot]) -> dict[int, Cause]:
    wanted = [r for r in rows if r.kind in _OF_ENTRIES]
    if not wanted:
        return {}
    ids = sorted({e for r in wanted for e in r.entries})
    first = wanted[0]
    events = AuditEvent.objects.filter(
        cluster=first.cluster.name,
        target=first.table_name,
        outcome="done",
        action__in=sorted({a for actions in _OF_ENTRIES.values() for a in actions} | {_OVERRIDE}),
        detail__entry__in=ids,
    ).order_by("id")
    named: dict[tuple[str, str], list[AuditEvent]] = {}
    for event in events:
        named.setdefault((event.action, event.detail["entry"]), []).append(event)
    return {row.number: cause for row in wanted if (cause := _by_entry(row, named)) is not None}


def _by_entry(row: Snapshot, named: Mapping[tuple[str, str], Sequence[AuditEvent]]) -> Cause | None:
    found = [e for a in _OF_ENTRIES[Kind(row.kind)] if (e := _nearest(row, named, a)) is not None]
    if not found:
        return None
    made = Cause(found[0].actor, found[0].reason, found[0].pk, _came_from(found[0]))
    decided = _nearest(row, named, _OVERRIDE) if row.checks == _OVERRIDDEN else None
    if decided is None:
        return made
    # Who decided ended it, too: the data are of who started it.
    began = found[-1]
    return replace(made, actor=began.actor, reason=began.reason, decided_by=decided.actor, decision=decided.reason)


def _nearest(row: Snapshot, named: Mapping[tuple[str, str], Sequence[AuditEvent]], action: str) -> AuditEvent | None:
    """An entry that one return made may be taken back by the next: the event that is nearest to the switch counts."""
    events = next((named[action, i] for i in row.entries if (action, i) in named), ())
    return min(events, key=lambda e: abs(e.at - row.at), default=None)


def _came_from(event: AuditEvent) -> int:
    number = event.detail.get("from")
    return number if event.action == "restoreSnapshot" and isinstance(number, int) else 0


def _by_segments(rows: Sequence[Snapshot]) -> dict[int, Cause]:
    """An event of about that time which names one of the segments that came or went."""
    wanted = [r for r in rows if r.kind in _OF_SEGMENTS]
    if not wanted:
        return {}
    first = wanted[0]
    events = list(
        AuditEvent.objects.filter(
            cluster=first.cluster.name,
            target=first.table_name,
            outcome="done",
            action__in=sorted({a for actions in _OF_SEGMENTS.values() for a in actions}),
            at__gte=min(r.at for r in wanted) - _NEAR,
            at__lte=max(r.at for r in wanted) + _NEAR,
        ).order_by("-id")[:1000]
    )
    found = {}
    changed = dict(Snapshot.objects.filter(pk__in=[r.pk for r in wanted]).values_list("number", "changes"))
    for row in wanted if events else ():
        names, actions = set(unpack_changes(changed[row.number])), _OF_SEGMENTS[Kind(row.kind)]
        for event in events:
            near = abs(event.at - row.at) <= _NEAR and event.action in actions
            if near and not names.isdisjoint(event.detail.get("segments") or ()):
                found[row.number] = Cause(event.actor, event.reason, event.pk)
                break
    return found
