"""Going back several replacements at once: which entries that takes, what queries see then, what stands in the way
(rules `steps-back-in-one-switch` and `preview-first`).

Invariant: all entries change in one write of the lineage, so that queries go from the present snapshot to the wanted
one and see none of those between. Only entries that were built on the wanted one are taken back; parallel replacements
of other segments stay as they are. Each entry is checked as in a revert of its own, except that a snapshot between need
not exist any more: nobody will see it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from segments.domain.replacement.lineage import LIVE, Entry, Lineage, State
from segments.errors import PreconditionFailed, StateConflict

_SHOWN = 5


@dataclass(frozen=True)
class RollbackPlan:
    """``steps``: entries to revert, newest first, the requested one last. ``after``: the lineage then.

    ``delete``: segments that nobody can see then and that go; pinned ones stay. ``blockers``: why it cannot be done;
    empty: it can.
    """

    table: str
    target: str
    steps: tuple[Entry, ...]
    after: Lineage
    delete: tuple[str, ...]
    blockers: tuple[StateConflict | PreconditionFailed, ...]


def plan_rollback(
    lineage: Lineage, target: str, ideal: Mapping[str, bool], *, force: bool, now_ms: int
) -> RollbackPlan:
    """Revert ``target`` and everything built on it. ``ideal``: does a replica serve the segment? NotFound when there is
    no such entry.

    ``force`` also takes back entries that are IN_PROGRESS, whose pushes then fail, and goes on where new segments were
    deleted by hand.
    """
    entry = lineage.entry(target)
    steps = built_on(lineage, entry)
    after = lineage.having(*(e.reverted(now_ms, rollback=target) for e in steps))
    hidden, pinned = after.hidden(), after.pinned()
    given_up = [s for e in steps for s in e.segments_to]
    delete = tuple(dict.fromkeys(s for s in given_up if s in ideal and s in hidden and s not in pinned))
    return RollbackPlan(
        lineage.table, target, steps, after, delete, tuple(_blockers(entry, steps, hidden, ideal, force=force))
    )


def require_possible(plan: RollbackPlan) -> None:
    """Raise the first blocker, if any."""
    if plan.blockers:
        raise plan.blockers[0]


def built_on(lineage: Lineage, entry: Entry) -> tuple[Entry, ...]:
    """The entry and all live ones that replaced its new side, theirs, and so on; newest first, so that each comes
    before what it is on.
    """
    replaced_by = replacing(e for e in lineage.entries.values() if e.state in LIVE)
    found, level = {entry.id: entry}, [entry]
    while level:
        later = {i for e in level for s in e.segments_to for i in replaced_by.get(s, ())} - found.keys()
        level = [lineage.entries[i] for i in later]
        found |= {e.id: e for e in level}
    return _newest_first(found.values())


def replacing(entries: Iterable[Entry]) -> dict[str, list[str]]:
    """{segment: ids of the entries that have it on their old side}"""
    found: dict[str, list[str]] = {}
    for entry in entries:
        for name in entry.segments_from:
            found.setdefault(name, []).append(entry.id)
    return found


def _newest_first(entries: Collection[Entry]) -> tuple[Entry, ...]:
    """By what replaced what; among independent ones by time. Clocks of different machines may contradict the chain."""
    left, ordered, replaced_by = {e.id: e for e in entries}, [], replacing(entries)
    later = {e.id: {i for s in e.segments_to for i in replaced_by.get(s, ())} - {e.id} for e in entries}
    while left:
        free = [e for e in left.values() if later[e.id].isdisjoint(left)]
        chosen = max(free or left.values(), key=lambda e: (e.timestamp_ms, e.id))
        ordered.append(left.pop(chosen.id))
    return tuple(ordered)


def _lost(steps: Collection[Entry], ideal: Collection[str]) -> list[str]:
    """New segments of completed steps that are gone though no step replaced them: deleted by hand, or the entry that
    did was dropped.
    """
    replaced = {s for e in steps for s in e.segments_from}
    return [
        s for e in steps if e.state is State.COMPLETED for s in e.segments_to if s not in ideal and s not in replaced
    ]


def _blockers(
    entry: Entry, steps: Collection[Entry], hidden: Collection[str], ideal: Mapping[str, bool], *, force: bool
) -> list[StateConflict | PreconditionFailed]:
    if entry.state is State.REVERTED:
        return [
            StateConflict(
                f"Lineage entry '{entry.id}' is already REVERTED.", remedy="Nothing is left to do.", entry=entry.id
            )
        ]
    found: list[StateConflict | PreconditionFailed] = [
        StateConflict(
            f"Lineage entry '{e.id}' is still IN_PROGRESS.",
            remedy="Wait for its end, or revert it first (forceRevert=true).",
            entry=e.id,
        )
        for e in steps
        if e.state is State.IN_PROGRESS and not force
    ]
    lost = _lost(steps, ideal)
    if lost and not force:
        found.append(
            StateConflict(
                f"Segment '{lost[0]}' of lineage entry '{entry.id}', or of one built on it, is gone; no entry "
                "says what replaced it.",
                remedy="If it was deleted by hand, give forceRevert=true; else old and "
                "new rows would be seen together.",
                entry=entry.id,
                segments=lost,
            )
        )
    return [*found, *_not_served(entry, steps, hidden, ideal)]


def _not_served(
    entry: Entry, steps: Collection[Entry], hidden: Collection[str], ideal: Mapping[str, bool]
) -> list[PreconditionFailed]:
    """The snapshot that queries would see is deleted, or no live server serves it."""
    found: list[PreconditionFailed] = []
    wanted = dict.fromkeys(s for e in steps if e.state is State.COMPLETED for s in e.segments_from if s not in hidden)
    missing = [s for s in wanted if not ideal.get(s, False)]
    deleted, down = [s for s in missing if s not in ideal], [s for s in missing if s in ideal]
    before = f"Lineage entry '{entry.id}' cannot be rolled back: segment "
    if deleted:
        text = f"{before}{_named(deleted)} of the snapshot before it is deleted."
        remedy = "Go back fewer steps, restore the old segments, or push the old data again."
        found.append(PreconditionFailed(text, remedy=remedy, entry=entry.id, segments=deleted))
    if down:
        text = f"{before}{_named(down)} of the snapshot before it exists, but no live server serves it."
        remedy = (
            "Wait until its servers are back and have loaded it; one in ERROR can be reset. Or go back fewer steps."
        )
        found.append(PreconditionFailed(text, remedy=remedy, entry=entry.id, segments=down))
    return found


def _named(segments: Sequence[str]) -> str:
    more = f" and {len(segments) - _SHOWN} more" if len(segments) > _SHOWN else ""
    return ", ".join(f"'{s}'" for s in segments[:_SHOWN]) + more
