"""Which deleted segments may come back beside what queries see: none that a replacement ever took away.

An entry that the lineage no longer has counts like one that it has: what it hid would otherwise be seen beside what replaced it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from segments.domain.lineage import Entry, Lineage, State
from segments.domain.undo.past import PastEntry, hiding, known_entries
from segments.errors import StateConflict


@dataclass(frozen=True)
class ReturnRule:
    """``include_hidden`` lets the old side of a COMPLETED entry of the lineage through: no query sees it, and the entry can be reverted
    again. ``into``: they come back as new segments of this unfinished entry, hidden until its end; empty: beside what queries see.
    """

    include_hidden: bool = False
    into: str = ""

    def hidden(self, lineage: Lineage, past: Mapping[str, PastEntry]) -> dict[str, Entry]:
        """{name that may not come back: the newest entry that hides it}; made once for all names of a request.

        What a running or reverted push left never may come back beside the rest. StateConflict when the entry ``into`` is over.
        """
        ordered = lineage.in_order()
        found = hiding(known_entries(lineage, past))
        found.update({s: e for e in ordered for s in e.hides})
        if self.include_hidden:
            free = {s for e in ordered if e.state is State.COMPLETED for s in e.hides}
            free -= {s for e in ordered if e.state is not State.COMPLETED for s in e.hides}
            found = {s: e for s, e in found.items() if s not in free}
        coming = set(self._coming(lineage)) if self.into else set()
        return {s: e for s, e in found.items() if s not in coming}

    def _coming(self, lineage: Lineage) -> tuple[str, ...]:
        entry = lineage.entries.get(self.into)
        if entry is None or entry.state is not State.IN_PROGRESS:
            state = f"is {entry.state}" if entry is not None else "is gone"
            raise StateConflict(
                f"Lineage entry '{self.into}' of table '{lineage.table}' {state}: nothing can come back into it.",
                remedy="Look at the table's lineage, then try again.", entry=self.into,
            )  # fmt: skip
        return entry.segments_to
