"""Which way leads back to a snapshot: rollbacks while its segments are hidden, an undo, a replacement that shows kept
files again. Whatever the steps, queries see exactly the snapshot after the last one; of a REALTIME table also what the
stream brought since, which stays.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from segments.domain.formats.plural import counted
from segments.domain.replacement.history.stream import streamed_since
from segments.domain.replacement.lineage import Entry, Lineage, State
from segments.domain.replacement.rollback import built_on, plan_rollback
from segments.domain.replacement.undo.kept_entries import KeptEntry, known_entries
from segments.domain.replacement.undo.plan import plan_undo, undoable
from segments.errors import PinotAdminError

#: More switches than these nobody confirms at once.
_MOST_STEPS: Final = 20


@dataclass(frozen=True)
class Step:
    """One switch. ``entry``: which is rolled back, or whose rollback is undone. A replacement hides the segments
    ``hide`` and shows ``back``.
    """

    kind: Literal["rollback", "undo", "replace"]
    entry: str = ""
    hide: tuple[str, ...] = ()
    back: tuple[str, ...] = ()


@dataclass(frozen=True)
class Way:
    """``steps`` in their order; none: queries see it already. ``deleted``: segments that leave the table on it.
    ``blockers``: sentences; it can be gone when there are none. ``lost``: segments of which nothing is left.
    ``has_stream``: what the stream brought after the snapshot, ``streamed``, stays and is seen afterwards, too.
    """

    steps: tuple[Step, ...] = ()
    deleted: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    has_stream: bool = False
    streamed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Present:
    """A table as it is. ``served``: {segment of the ideal state: does a live server serve it?}; ``kept``: names of
    deleted segments whose files are kept; ``past``: entries that have left the lineage; ``has_stream``: is it a
    REALTIME table?
    """

    lineage: Lineage
    served: Mapping[str, bool]
    kept: Collection[str]
    past: Mapping[str, KeptEntry]
    now_ms: int
    has_stream: bool = False

    @property
    def visible(self) -> set[str]:
        """What queries see."""
        return set(self.lineage.visible(self.served))


def way_to(present: Present, wanted: Collection[str]) -> Way:
    """The way to a table that consists of exactly these segments, and of what its stream brought since."""
    streamed = tuple(streamed_since(wanted, present.served)) if present.has_stream else ()
    way = replace(_way_to(present, {*wanted, *streamed}), has_stream=present.has_stream, streamed=streamed)
    back = [s for step in way.steps for s in step.back]
    if not back or not present.has_stream:
        return way
    gone = counted(len(back), "deleted segment", "belongs", "belong")
    return replace(way, blockers=(*way.blockers, f"{gone} to it. Restore them on tab Deleted."))


def differing(visible: Collection[str], wanted: Collection[str], *, has_stream: bool) -> tuple[set[str], set[str]]:
    """What to hide and what to show again, so that queries that see ``visible`` see the snapshot; the stream may have
    brought more meanwhile.
    """
    hide = set(visible).difference(wanted)
    if has_stream:
        hide.difference_update(streamed_since(wanted, visible))
    return hide, set(wanted).difference(visible)


def _way_to(present: Present, names: set[str]) -> Way:
    if present.visible == names:
        return Way()
    lost = tuple(sorted(s for s in names if s not in present.served and s not in present.kept))
    if lost:
        return Way(lost=lost, blockers=(_lost(lost),))
    undo = _by_undo(present, names)
    return Way((Step("undo", undo),)) if undo else _by_rollbacks(present, names)


def _lost(names: Collection[str]) -> str:
    first, more = min(names), len(names) - 1
    others = f" and {more} more" if more else ""
    return f"The files of segment '{first}'{others} are gone."


def _by_undo(present: Present, names: set[str]) -> str:
    """The rollback whose undo shows exactly this; empty: none does."""
    known = known_entries(present.lineage, present.past)
    for target in undoable(known):
        try:
            plan = plan_undo(present.lineage, present.past, target, present.served)
        except PinotAdminError:
            continue
        if not plan.blockers and (present.visible - set(plan.gone)) | set(plan.back) == names:
            return target
    return ""


def _by_rollbacks(present: Present, names: set[str]) -> Way:
    """Roll back what hides a segment of it, then replace what still differs."""
    lineage, served = present.lineage, dict(present.served)
    steps: list[Step] = []
    deleted: list[str] = []
    blockers: list[str] = []
    while (entry := _hiding(lineage, names & served.keys())) is not None:
        plan = plan_rollback(lineage, entry.id, served, force=False, now_ms=present.now_ms)
        steps.append(Step("rollback", entry.id))
        deleted += plan.delete
        blockers += [str(b) for b in plan.blockers]
        lineage = plan.after
        for name in plan.delete:
            served.pop(name, None)
        if len(steps) > _MOST_STEPS:
            return Way(blockers=(f"It takes more than {_MOST_STEPS} rollbacks. Go back to a newer snapshot first.",))
    visible = set(lineage.visible(served))
    hide, back = tuple(sorted(visible - names)), tuple(sorted(names - visible))
    if hide or back:
        steps.append(Step("replace", hide=hide, back=back))
    return Way(tuple(steps), tuple(deleted), tuple(blockers))


def _hiding(lineage: Lineage, names: Collection[str]) -> Entry | None:
    """The entry to roll back first: it hides one of these as its old side, and was not built on another such."""
    found = {
        e.id: e for e in lineage.in_order() if e.state is State.COMPLETED and not set(names).isdisjoint(e.segments_from)
    }
    later = {o.id for e in found.values() for o in built_on(lineage, e) if o.id != e.id}
    return next((e for i, e in found.items() if i not in later), next(iter(found.values()), None))
