"""The decision to undo a rollback: which segments come back, which go, and what stands in the way.

A rollback reverted one entry, or a whole chain in one switch. Undone, queries see what they saw right before it: the
segments that these entries, were they COMPLETED again, would show come back, and those that they would hide go. It is a
replacement of its own, so that it switches like one and can be rolled back itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from segments.domain.formats.plural import counted
from segments.domain.replacement.lineage import (
    PIN_ACTOR,
    PIN_REASON,
    PINNED,
    REVERTED_FROM,
    ROLLBACK,
    UNDOES,
    Entry,
    Lineage,
    State,
)
from segments.domain.replacement.undo.kept_entries import KeptEntry, hiding, known_entries
from segments.errors import NotFound, PreconditionFailed, StateConflict

Blocker = StateConflict | PreconditionFailed


@dataclass(frozen=True)
class UndoPlan:
    """``target``: the entry that the rollback was requested for; ``steps``: all that it took back, newest first, at
    ``at_ms`` (epoch ms).

    ``back`` comes back, ``gone`` is hidden then. ``attempt``: the entry of an undo that is under way. ``blockers``:
    empty, it can be done.
    """

    table: str
    target: str
    steps: tuple[Entry, ...]
    at_ms: int
    back: tuple[str, ...]
    gone: tuple[str, ...]
    attempt: Entry | None
    blockers: tuple[Blocker, ...]


def is_undoable(entry: Entry) -> bool:
    """Was it rolled back after its end, so that there is something to bring back?"""
    return entry.state is State.REVERTED and entry.notes.get(REVERTED_FROM) == State.COMPLETED


def undoable(known: Mapping[str, Entry]) -> dict[str, list[Entry]]:
    """{entry that a rollback was requested for: all that it took back after their end, newest first} of rollbacks that
    are not undone.
    """
    targets = {e.notes[ROLLBACK] for e in known.values() if is_undoable(e)}
    undone = {
        e.notes[UNDOES] for e in known.values() if UNDOES in e.notes and (e.state is State.COMPLETED or is_undoable(e))
    }
    return {t: [e for e in _steps(known, t) if is_undoable(e)] for t in sorted(targets - undone)}


def plan_undo(lineage: Lineage, past: Mapping[str, KeptEntry], entry_id: str, ideal: Collection[str]) -> UndoPlan:
    """What undoing the rollback of this entry takes. ``ideal``: names in the ideal state.

    NotFound when nothing is known of the entry, StateConflict when it was not rolled back, or its rollback is undone
    already.
    """
    known = known_entries(lineage, past)
    entry = _rolled_back(lineage.table, known, entry_id)
    target = entry.notes[ROLLBACK]
    attempts = {e.id: e for e in known.values() if e.notes.get(UNDOES) == target}
    _check_not_undone(target, attempts)
    steps = _steps(known, target)
    done = [e for e in steps if is_undoable(e)]
    others = {i: e for i, e in known.items() if i not in attempts}
    before = hiding({**others, **_completed_again(done)})
    hidden = lineage.hidden()
    visible = [s for s in ideal if s not in hidden]
    back = tuple(dict.fromkeys(s for e in done for s in e.segments_to if s not in before))
    gone = tuple(sorted({s for e in done for s in e.segments_from}.intersection(visible)))
    attempt = next((e for e in attempts.values() if e.state is State.IN_PROGRESS), None)
    blockers = [*_returned(target, back, visible), *_replaced_since(others, done, set(visible), entry.timestamp_ms)]
    blockers += _under_way(lineage, attempt, {*back, *gone})
    if not back and not gone:
        blockers.append(
            StateConflict(
                f"The rollback of entry '{target}' changed nothing that queries see.", remedy="", entry=target
            )
        )
    return UndoPlan(lineage.table, target, tuple(steps), entry.timestamp_ms, back, gone, attempt, tuple(blockers))


def begin(lineage: Lineage, new: Entry, *, inherit: Collection[str] = ()) -> tuple[Lineage, tuple[Entry, ...]]:
    """(the lineage with ``new``, which shows its ``segments_to`` again at its end; the entries that gave up names to
    it, as they were).

    A name belongs to one entry: reverted ones, and completed ones whose segment was deleted, give it up. Pins of
    entries in ``inherit`` count for ``new`` too. StateConflict when an unfinished entry names one of the segments.
    """
    wanted, olds = set(new.segments_to), []
    conflicts = _under_way(lineage, None, {*new.segments_to, *new.segments_from})
    if conflicts:
        raise conflicts[0]
    for entry in lineage.in_order():
        if not wanted.isdisjoint(entry.segments_to):
            olds.append(entry)
    pins = next((e.notes for e in lineage.in_order() if e.is_pinned and (e.id in inherit or e in olds)), {})
    new = new.noted({k: pins.get(k) for k in (PINNED, PIN_REASON, PIN_ACTOR)}) if pins else new
    stripped = [replace(e, segments_to=tuple(s for s in e.segments_to if s not in wanted)) for e in olds]
    return lineage.having(*stripped, new), tuple(olds)


def strangers_blocker(plan: UndoPlan, strangers: Sequence[str], rows: int) -> StateConflict:
    """What only ``force`` passes: ``strangers`` are visible, came after the rollback, and would be seen together with
    what comes back.
    """
    more = f" and {len(strangers) - 1} more" if len(strangers) > 1 else ""
    return StateConflict(
        f"Segment '{strangers[0]}'{more} with {counted(rows, 'row')} came after the rollback of entry '{plan.target}': "
        "undone, queries would see them"
        f" next to {counted(len(plan.back), 'segment')} that undoing brings back.",
        remedy="If they are other data, give force=true; if they are the same data, there is nothing to undo.",
        entry=plan.target,
        segments=list(strangers),
    )


def _rolled_back(table: str, known: Mapping[str, Entry], entry_id: str) -> Entry:
    entry = known.get(entry_id)
    if entry is None:
        raise NotFound(
            f"Nothing is known of lineage entry '{entry_id}' of table '{table}'.",
            remedy="It never was, its rollback is undone already, or the files that it removed are gone: then push "
            "the data again.",
            entry=entry_id,
        )
    if entry.state is not State.REVERTED:
        text = f"Lineage entry '{entry_id}' is {entry.state}: only a rollback can be undone."
        raise StateConflict(text, remedy="To take it back, roll it back.", entry=entry_id)
    if not is_undoable(entry):
        text = f"Lineage entry '{entry_id}' was taken back before its end: queries never saw its new side."
        raise StateConflict(text, remedy="Push the data again.", entry=entry_id)
    return entry


def _check_not_undone(target: str, attempts: Mapping[str, Entry]) -> None:
    for entry in sorted(attempts.values(), key=lambda e: e.timestamp_ms, reverse=True):
        if entry.state is State.COMPLETED:
            text = f"The rollback of entry '{target}' is undone already, by entry '{entry.id}'."
            raise StateConflict(text, remedy="Nothing is left to do.", entry=target, undo=entry.id)
        if is_undoable(entry):
            text = f"The rollback of entry '{target}' was undone by entry '{entry.id}', which was rolled back itself."
            raise StateConflict(text, remedy=f"Undo the rollback of entry '{entry.id}'.", entry=target, undo=entry.id)


def _steps(known: Mapping[str, Entry], target: str) -> list[Entry]:
    """What one rollback took back, newest first: each before what it was built on."""
    found = [e for e in known.values() if e.state is State.REVERTED and e.notes.get(ROLLBACK) == target]
    ordered: list[Entry] = []
    while found:
        free = [e for e in found if not any(set(e.segments_to) & set(o.segments_from) for o in found if o is not e)]
        ordered.append(min(free or found, key=lambda e: e.id))
        found.remove(ordered[-1])
    return ordered


def _returned(target: str, back: Collection[str], visible: Collection[str]) -> list[Blocker]:
    there = sorted(set(back).intersection(visible))
    if not there:
        return []
    text = f"Segment '{there[0]}', which the rollback of entry '{target}' removed, exists again."
    return [StateConflict(text, remedy="Restore or push what is still missing.", entry=target, segments=there)]


def _completed_again(done: Sequence[Entry]) -> dict[str, Entry]:
    """All of one moment: a Pinot reverts them one after the other, newest first, so their times are in the wrong order,
    and an older one would seem to bring back what a newer one replaced.
    """
    at_ms = max((e.timestamp_ms for e in done), default=0)
    return {e.id: replace(e, state=State.COMPLETED, timestamp_ms=at_ms) for e in done}


def _replaced_since(
    others: Mapping[str, Entry], done: Sequence[Entry], visible: Collection[str], at_ms: int
) -> list[Blocker]:
    """Newer replacements of what the rollback brought back: undone, both they and what comes back would be seen."""
    mine, between = {e.id for e in done}, {s for e in done for s in e.segments_to}
    base = {s for e in done for s in e.segments_from if s not in between and s not in visible}
    for entry in sorted(others.values(), key=lambda e: e.timestamp_ms, reverse=True):
        if (
            entry.id in mine
            or entry.state is not State.COMPLETED
            or entry.timestamp_ms < at_ms
            or base.isdisjoint(entry.segments_from)
        ):
            continue
        text = f"What the rollback brought back was replaced again by lineage entry '{entry.id}'."
        return [StateConflict(text, remedy=f"Roll back entry '{entry.id}' first.", entry=entry.id)]
    return []


def _under_way(lineage: Lineage, attempt: Entry | None, names: Collection[str]) -> list[Blocker]:
    for entry in lineage.in_order():
        if entry.state is not State.IN_PROGRESS or entry == attempt:
            continue
        shared = sorted(set(names).intersection(entry.segments_from + entry.segments_to))
        if shared:
            text = (
                f"Lineage entry '{entry.id}' (IN_PROGRESS) of table '{lineage.table}' already names segment "
                f"'{shared[0]}'."
            )
            return [StateConflict(text, remedy="Wait for its end, or revert it.", entry=entry.id, segments=shared)]
    return []
