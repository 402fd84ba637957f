"""Names of a table's snapshots, and which segments each consists of.

``current`` is what queries see. ``ENTRY`` is what they see, or would, with this replacement as the newest of its chain:
those it was built on count as completed, those built on it and those that replaced the same segments otherwise as taken
back. ``ENTRY:from`` and ``ENTRY:to`` are exactly the two lists of the entry.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from segments.domain.replacement.lineage import LIVE, Entry, Lineage, State
from segments.domain.replacement.rollback import built_on
from segments.errors import InvalidInput

CURRENT: Final = "current"
_SIDES: Final = ("from", "to")


@dataclass(frozen=True)
class Snapshot:
    """``segments`` that exist, sorted; ``gone`` belong to it too, but are deleted or not uploaded yet."""

    name: str
    segments: tuple[str, ...]
    gone: tuple[str, ...]


def find_snapshot(lineage: Lineage, name: str, ideal: Collection[str]) -> Snapshot:
    """The snapshot of that name. ``ideal`` are the names in the ideal state. NotFound for an unknown entry,
    InvalidInput for a bad side.
    """
    if name == CURRENT:
        return Snapshot(name, tuple(lineage.visible(ideal)), ())
    entry_id, _, side = name.partition(":")
    entry = lineage.entry(entry_id)
    if side and side not in _SIDES:
        raise InvalidInput(
            f"'{side}' is not a side of a lineage entry.", remedy="Use ENTRY, ENTRY:from, ENTRY:to or current."
        )
    if side:
        wanted: Collection[str] = entry.segments_from if side == "from" else entry.segments_to
    else:
        as_newest = _as_newest(lineage, entry)
        wanted = as_newest.visible({*ideal, *entry.segments_to})
    return Snapshot(
        name, tuple(sorted(s for s in wanted if s in ideal)), tuple(sorted(s for s in wanted if s not in ideal))
    )


def _as_newest(lineage: Lineage, entry: Entry) -> Lineage:
    chain = _ancestors(lineage, entry)
    replaced = {s for e in chain.values() for s in e.segments_from}
    rivals = [
        e for e in lineage.entries.values() if e.id not in chain and e.state in LIVE and replaced & set(e.segments_from)
    ]
    given_up = {e.id: e for start in (entry, *rivals) for e in built_on(lineage, start) if e.id not in chain}
    completed = [replace(e, state=State.COMPLETED) for e in chain.values()]
    return lineage.having(*(replace(e, state=State.REVERTED) for e in given_up.values()), *completed)


def _ancestors(lineage: Lineage, entry: Entry) -> dict[str, Entry]:
    """The entry and those whose new side it, or one of them, replaced."""
    found, needed = {entry.id: entry}, set(entry.segments_from)
    while level := [e for e in lineage.entries.values() if e.id not in found and needed & set(e.segments_to)]:
        for one in level:
            found[one.id] = one
            needed |= set(one.segments_from)
    return found
