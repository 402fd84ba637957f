"""Which deleted segments may come back next to what queries see: none that a replacement ever removed, or replaced the
company of.

An entry that the lineage no longer has counts like one that it has: what it hid would otherwise be seen together with
what replaced it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from segments.domain.replacement.lineage import Entry, Lineage, State
from segments.domain.replacement.undo.kept_entries import KeptEntry, hiding, known_entries
from segments.errors import StateConflict

_SWITCH: Final = "restore it with switch=true: what queries see now is hidden in the same step."


@dataclass(frozen=True)
class Obstacle:
    """Why a segment may not come back next to the rest: ``entry`` hides it, hid it before it was ``dropped`` from the
    lineage, or is ``newer``: it replaced what was seen together with the segment after that was deleted.
    """

    entry: Entry
    kind: Literal["hidden", "dropped", "newer"]

    def explained(self) -> tuple[str, str]:
        """(why, what to do)."""
        name, state = f"lineage entry '{self.entry.id}'", self.entry.state
        if self.kind == "newer":
            why = f"{name} replaced data of the table after it was deleted: old and new rows would be seen together"
            return why, f"If it is other data, give force=true; else {_SWITCH}"
        if state is State.IN_PROGRESS and self.kind == "hidden":
            return (
                f"it belongs to the running replacement '{self.entry.id}'",
                "Wait for the end of the replacement, or revert it.",
            )
        if state is State.IN_PROGRESS:
            return f"it is left from the unfinished replacement '{self.entry.id}'", f"Push the data again, or {_SWITCH}"
        if self.kind == "dropped":
            did = f"{name} replaced it" if state is State.COMPLETED else f"the rollback of {name} removed it"
            way = _SWITCH.capitalize() if state is State.COMPLETED else f"Undo that rollback, or {_SWITCH}"
            return f"{did}: its rows would be seen together with those that stand for it now", way
        if state is State.COMPLETED:
            return (
                f"{name} replaced it: no query would see it",
                "Restore it with includeHidden=true in order to revert that entry.",
            )
        why = f"{name}, which brought it, is reverted: no query would see it and the next clean-up would take it"
        return why, f"Undo that rollback, or {_SWITCH}"


@dataclass(frozen=True)
class ReturnRule:
    """``include_hidden`` lets the old side of a COMPLETED entry of the lineage through: no query sees it, and the entry
    can be reverted again. ``into``: they come back as new segments of this unfinished entry, hidden until its end;
    empty: next to what queries see. ``deleted``: when each was deleted (epoch ms), where later replacements stand in
    the way; ``is_refresh``: those of nothing count, too.
    """

    include_hidden: bool = False
    into: str = ""
    deleted: Mapping[str, int] = field(default_factory=dict)
    is_refresh: bool = False

    def obstacles(self, lineage: Lineage, past: Mapping[str, KeptEntry], ideal: Collection[str]) -> dict[str, Obstacle]:
        """{name that may not come back: why}; made once for all names of a request. StateConflict when the entry
        ``into`` is over.
        """
        ordered, known = lineage.in_order(), known_entries(lineage, past)
        found = self._newer(known, set(lineage.visible(ideal)))
        found.update({s: Obstacle(e, "dropped") for s, e in hiding(known).items()})
        found = {s: o for s, o in found.items() if s not in ideal}
        found.update({s: Obstacle(e, "hidden") for e in ordered for s in e.hides})
        free = set(self._coming(lineage)) if self.into else set()
        if self.include_hidden:
            done = {s for e in ordered if e.state is State.COMPLETED for s in e.hides}
            free |= done - {s for e in ordered if e.state is not State.COMPLETED for s in e.hides}
        return {s: o for s, o in found.items() if s not in free}

    def _newer(self, known: Mapping[str, Entry], visible: Collection[str]) -> dict[str, Obstacle]:
        """Replacements, ended after a segment was deleted, of what was pushed with it, or in a REFRESH table of
        anything.
        """
        found: dict[str, Obstacle] = {}
        done = [e for e in known.values() if e.state is State.COMPLETED and not set(visible).isdisjoint(e.segments_to)]
        for entry in sorted(done, key=lambda e: e.timestamp_ms) if self.deleted else ():
            for segment, at in self.deleted.items():
                if entry.timestamp_ms > at and (
                    self.is_refresh or not _company(known, segment).isdisjoint(entry.segments_from)
                ):
                    found[segment] = Obstacle(entry, "newer")
        return found

    def _coming(self, lineage: Lineage) -> tuple[str, ...]:
        entry = lineage.entries.get(self.into)
        if entry is None or entry.state is not State.IN_PROGRESS:
            state = f"is {entry.state}" if entry is not None else "is gone"
            raise StateConflict(
                f"Lineage entry '{self.into}' of table '{lineage.table}' {state}: nothing can come back into it.",
                remedy="Check the table's lineage, then try again.", entry=self.into,
            )  # fmt: skip
        return entry.segments_to


def _company(known: Mapping[str, Entry], segment: str) -> set[str]:
    """What came in the same replacements."""
    return {s for e in known.values() if segment in e.segments_to for s in e.segments_to}


def stand_ins(known: Mapping[str, Entry], segments: Collection[str], visible: Collection[str]) -> set[str]:
    """Which visible segments stand for these now: what replaced them, or what the rollback that removed them brought
    back, and so on.
    """
    hidden_by, found, done, waiting = hiding(known), set[str](), set(segments), list(segments)
    while waiting:
        entry = hidden_by.get(waiting.pop())
        if entry is None:
            continue
        for name in entry.segments_to if entry.state is State.COMPLETED else entry.segments_from:
            if name in visible:
                found.add(name)
            elif name not in done:
                waiting.append(name)
            done.add(name)
    return found
