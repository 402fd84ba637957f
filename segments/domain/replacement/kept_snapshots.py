"""Which earlier snapshots of a table stay after a push, and which go (rules `previous-snapshots-kept` and
`whole-snapshots-only`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from segments.domain.replacement.lineage import FORCED_CLEANUP, Entry, Lineage, State


def snapshots_before(lineage: Lineage) -> dict[str, list[Entry]]:
    """{id of a completed entry: the completed entries whose new side is exactly its old side}"""
    completed = [e for e in lineage.entries.values() if e.state is State.COMPLETED]
    making: dict[frozenset[str], list[Entry]] = {}
    for entry in completed:
        making.setdefault(frozenset(entry.segments_to), []).append(entry)
    return {e.id: making.get(frozenset(e.segments_from), []) if e.segments_from else [] for e in completed}


def superseded_by(before: Mapping[str, Sequence[Entry]], done: Entry, keep: int = 1) -> list[Entry]:
    """Completed entries whose old side lies more than ``keep`` snapshots before ``done``'s new side, if its start asked
    for cleanup. ``before`` as from ``snapshots_before``.

    Of a REFRESH table their old side goes (rule `whole-snapshots-only`: each entry's new side must be exactly what the
    next one replaced). They go after the end, not at the start (rule `previous-snapshots-kept`). With ``keep`` 0 the
    side that ``done`` itself replaced goes too.
    """
    if done.state is not State.COMPLETED or done.notes.get(FORCED_CLEANUP) != "true":
        return []
    found, level, seen, depth = [], [done], {done.id}, 0
    while level:
        found += level if depth >= keep else []
        level = list({e.id: e for later in level for e in before[later.id] if e.id not in seen}.values())
        seen |= {e.id for e in level}
        depth += 1
    return found


def rollback_targets(lineage: Lineage, keep: int) -> set[str]:
    """Segments that going back up to ``keep`` steps would need: the old sides of the newest completed links of every
    chain.

    An entry stands as many steps back as the longest chain of completed entries that replaced its new side again.
    Retention must not remove these, whatever their age, while the table asks for ``keep`` previous snapshots (rule
    `previous-snapshots-kept`).
    """
    if keep <= 0:
        return set()
    completed = [e for e in lineage.in_order() if e.state is State.COMPLETED]
    replaced_by: dict[str, int] = {}
    targets: set[str] = set()
    for entry in reversed(completed):
        steps = 1 + max((replaced_by[s] for s in entry.segments_to if s in replaced_by), default=0)
        replaced_by.update({s: max(steps, replaced_by.get(s, 0)) for s in entry.segments_from})
        if steps <= keep:
            targets.update(entry.segments_from)
    return targets
