"""The decisions of the replacement protocol: start, end and revert, as pure functions of what was observed.

Safe order of writes (rule `deletion-last`): lineage first, then brokers acknowledge it, then segments that nobody can
see any more leave the ideal state, then their files go. We differ from Pinot by the rules `no-mutual-hiding`,
`refusals-are-4xx`, `previous-snapshots-kept` and `dropped-segments-go`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from segments.domain.replacement.kept_snapshots import rollback_targets, snapshots_before, superseded_by
from segments.domain.replacement.lineage import FORCED_CLEANUP, LIVE, Entry, Lineage, State
from segments.domain.replacement.replacement_settings import DEFAULT_SETTINGS, ReplacementSettings
from segments.errors import InvalidInput, NotFound, PreconditionFailed, StateConflict
from segments.names import check_segment_name


@dataclass(frozen=True)
class Replacement:
    """What a start asks for: lists as given, checked."""

    segments_from: tuple[str, ...]
    segments_to: tuple[str, ...]
    force_cleanup: bool = False
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    """The new lineage and the entry concerned.

    ``remove_now``: segments that would become visible and so leave the ideal state in the same transaction.
    ``delete``: segments that go once brokers have acknowledged the new lineage.
    """

    lineage: Lineage
    entry: Entry
    remove_now: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()
    changed: bool = True


def check_request(segments_from: Sequence[str], segments_to: Sequence[str]) -> None:
    """Lists must name allowed segments, none twice, none on both sides, and not both be empty. Raises InvalidInput."""
    if not segments_from and not segments_to:
        raise InvalidInput(
            "'segmentsFrom' and 'segmentsTo' cannot both be empty.",
            remedy="Name what is replaced, what replaces it, or both.",
        )
    for name, listed in (("segmentsFrom", segments_from), ("segmentsTo", segments_to)):
        for segment in listed:
            check_segment_name(segment)
        twice = sorted(s for s, n in Counter(listed).items() if n > 1)
        if twice:
            raise InvalidInput(f"'{name}' names {_listing(twice)} more than once.", remedy="Name every segment once.")
    both = sorted(set(segments_from) & set(segments_to))
    if both:
        raise InvalidInput(
            f"{_listing(both)} cannot be replaced by the same name.", remedy="Give new segments new names."
        )


def start(lineage: Lineage, wanted: Replacement, *, entry_id: str, ideal: Collection[str], now_ms: int) -> Decision:
    """Open a replacement. ``ideal`` are the names in the ideal state. Raises NotFound or StateConflict.

    ``force_cleanup`` takes over from IN_PROGRESS entries that name the same segments (4.2): what is left of them goes.
    A name of a reverted push may be used again: the reverted entry gives it up, or it would hide the new segment for
    ever (in Pinot it does, and retention deletes it), and what is left of it leaves the ideal state, so that the new
    file is not taken for a refresh.
    """
    _check_visible(lineage, wanted, ideal)
    changed: list[Entry] = []
    removed: list[str] = []
    delete: list[str] = []
    new_from, new_to = set(wanted.segments_from), set(wanted.segments_to)
    for entry in lineage.in_order():
        taken = new_to.intersection(entry.segments_to)
        if entry.state is State.REVERTED:
            if taken:
                _check_not_pinned(entry, taken)
                changed.append(replace(entry, segments_to=tuple(s for s in entry.segments_to if s not in taken)))
            delete += entry.segments_to if wanted.force_cleanup else taken
        elif taken or not new_from.isdisjoint(entry.segments_from):
            if not wanted.force_cleanup:
                raise _overlap(lineage.table, entry, wanted)
            if entry.state is State.COMPLETED:
                # Its segment was deleted since. It must not hide the new one of that name when it is reverted.
                changed.append(replace(entry, segments_to=tuple(s for s in entry.segments_to if s not in taken)))
                continue
            _check_not_pinned(entry, taken or new_from.intersection(entry.segments_from))
            rest = tuple(s for s in entry.segments_to if s not in new_to)
            delete += rest
            if rest:
                changed.append(replace(entry, segments_to=rest, state=State.REVERTED, timestamp_ms=now_ms))
            else:
                removed.append(entry.id)
    _check_no_cycle(lineage.having(*changed, without=removed), wanted)
    notes = {**wanted.notes, **({FORCED_CLEANUP: "true"} if wanted.force_cleanup else {})}
    entry = Entry(entry_id, wanted.segments_from, wanted.segments_to, State.IN_PROGRESS, now_ms, notes=notes)
    after = lineage.having(*changed, entry, without=removed)
    return Decision(after, entry, delete=_deletable(after, delete, ideal))


def end(
    lineage: Lineage,
    entry_id: str,
    *,
    segments_to: Sequence[str],
    ideal: Collection[str],
    is_refresh: bool,
    now_ms: int,
    settings: ReplacementSettings = DEFAULT_SETTINGS,
) -> Decision:
    """Switch to the new side. ``segments_to`` (may be empty) narrows the entry's list.

    Ending a COMPLETED entry again changes nothing. The caller waits for replicas before, for brokers after. Deleted
    afterwards: segments dropped by a narrower list (rule `dropped-segments-go`) and, for a REFRESH table whose start
    requested cleanup, snapshots beyond those the table keeps (rule `previous-snapshots-kept`).
    """
    entry = lineage.entry(entry_id)
    if entry.state is State.COMPLETED:
        return Decision(lineage, entry, changed=False)
    if entry.state is State.REVERTED:
        raise StateConflict(
            f"Lineage entry '{entry_id}' is REVERTED and cannot be ended.", remedy="Start a new one.", entry=entry_id
        )
    final = _narrowed(entry, segments_to)
    _check_present(entry, final, ideal)
    done = replace(entry, segments_to=final, state=State.COMPLETED, timestamp_ms=now_ms)
    after = lineage.having(done)
    chosen = set(final)
    dropped = tuple(s for s in entry.segments_to if s not in chosen and s in ideal)
    superseded = superseded_by(snapshots_before(after), done, settings.kept_by_push) if is_refresh else []
    kept = rollback_targets(after, settings.kept_by_push)
    older = [s for e in superseded for s in e.segments_from if s not in kept]
    return Decision(after, done, remove_now=dropped, delete=_deletable(after, older, ideal))


def revert(
    lineage: Lineage,
    entry_id: str,
    *,
    force: bool,
    ideal: Mapping[str, bool],
    now_ms: int,
    strangers: Sequence[str] = (),
    rollback: str = "",
) -> Decision:
    """Go back to the old side. ``ideal`` maps each segment of the ideal state to whether a replica serves it.

    ``strangers`` as in ``lost_blockers``, ``rollback`` as in ``Entry.reverted``. Raises StateConflict (wrong state, not
    the newest link, or a lost one) or PreconditionFailed (old segments gone or not served).
    """
    entry = lineage.entry(entry_id)
    if entry.state is State.REVERTED:
        raise StateConflict(
            f"Lineage entry '{entry_id}' is already REVERTED.", remedy="Nothing is left to do.", entry=entry_id
        )
    if entry.state is State.IN_PROGRESS and not force:
        raise StateConflict(
            f"Lineage entry '{entry_id}' is still IN_PROGRESS.",
            remedy="Wait for its end, or give forceRevert=true.",
            entry=entry_id,
        )
    blockers = [*revert_blockers(lineage, entry, ideal)]
    if not force:
        blockers += lost_blockers(entry, lost_segments(lineage, entry, ideal), strangers)
    if blockers:
        raise blockers[0]
    done = entry.reverted(now_ms, rollback=rollback)
    after = lineage.having(done)
    return Decision(after, done, delete=_deletable(after, entry.segments_to, ideal))


def revert_blockers(
    lineage: Lineage, entry: Entry, ideal: Mapping[str, bool]
) -> list[StateConflict | PreconditionFailed]:
    """Why this entry cannot be reverted now, apart from its state; empty when it can (rule `newest-link-first`)."""
    found: list[StateConflict | PreconditionFailed] = []
    new = set(entry.segments_to)
    later = [
        e for e in lineage.in_order() if e.state in LIVE and e.id != entry.id and not new.isdisjoint(e.segments_from)
    ]
    if later:
        found.append(
            StateConflict(
                f"Segments of lineage entry '{entry.id}' were replaced again by entry '{later[-1].id}'.",
                remedy="Revert the newest entry first.",
                entry=entry.id,
                blocking=[e.id for e in later],
            )
        )
    if entry.state is State.COMPLETED:
        begin = f"Lineage entry '{entry.id}' cannot be reverted: "
        if deleted := [s for s in entry.segments_from if s not in ideal]:
            remedy = "Restore the old segments, or push the old data again."
            text = f"{begin}{_listing(deleted)} of the old side is deleted."
            found.append(PreconditionFailed(text, remedy=remedy, entry=entry.id, segments=deleted))
        if down := [s for s in entry.segments_from if s in ideal and not ideal[s]]:
            remedy = "Wait until its servers are back and have loaded it; one in ERROR can be reset."
            text = f"{begin}{_listing(down)} of the old side is there, but no live server serves it."
            found.append(PreconditionFailed(text, remedy=remedy, entry=entry.id, segments=down))
    return found


def lost_segments(lineage: Lineage, entry: Entry, ideal: Collection[str]) -> list[str]:
    """New segments of a completed entry that are gone though no entry replaced them: deleted by hand, or the entry that
    did was dropped.
    """
    replaced = {s for e in lineage.entries.values() if e.state in LIVE for s in e.segments_from}
    return (
        [s for s in entry.segments_to if s not in ideal and s not in replaced] if entry.state is State.COMPLETED else []
    )


def lost_blockers(entry: Entry, lost: Sequence[str], strangers: Sequence[str]) -> list[StateConflict]:
    """What only ``force`` goes past: ``lost`` may have been replaced by ``strangers``, visible segments that are newer
    and in no entry.
    """
    if not lost or not strangers:
        return []
    return [
        StateConflict(
            f"{_listing(lost)} of the new side of lineage entry '{entry.id}' is gone; {_listing(strangers)}, "
            "which came later, may have"
            " replaced it: old and new rows would be seen together.",
            remedy="If the one was deleted by hand and the other is other data, give forceRevert=true.",
            entry=entry.id,
            segments=list(lost),
        )
    ]


def _check_visible(lineage: Lineage, wanted: Replacement, ideal: Collection[str]) -> None:
    known = set(lineage.visible(ideal))
    unknown = [s for s in wanted.segments_from if s not in known]
    if unknown:
        raise NotFound(
            f"{_listing(unknown)} of 'segmentsFrom' is not visible in table '{lineage.table}'.",
            remedy="It is unknown, already replaced, or part of an unfinished replacement; list with "
            "excludeReplacedSegments=true.",
            segments=unknown,
        )
    taken = [s for s in wanted.segments_to if s in known]
    if taken:
        raise StateConflict(
            f"{_listing(taken)} of 'segmentsTo' exists in table '{lineage.table}'.",
            remedy="Give new segments new names.",
            segments=taken,
        )


def _check_no_cycle(lineage: Lineage, wanted: Replacement) -> None:
    """Rule `no-mutual-hiding`: a new name that a live entry hides as its old side would hide both sides."""
    new = set(wanted.segments_to)
    for entry in lineage.in_order():
        circular = sorted(new.intersection(entry.segments_from)) if entry.state in LIVE else []
        if circular:
            raise StateConflict(
                f"{_listing(circular)} of 'segmentsTo' is the old side of lineage entry '{entry.id}' ({entry.state}).",
                remedy="Revert that entry to get it back, or give new segments new names.", entry=entry.id,
            )  # fmt: skip


def _check_not_pinned(entry: Entry, segments: Collection[str]) -> None:
    """What somebody keeps from clean-up is not cleaned up by the next push either."""
    if entry.is_pinned:
        raise StateConflict(
            f"Lineage entry '{entry.id}' ({entry.state}) names {_listing(sorted(segments))} and is pinned.",
            remedy="Unpin the entry first, or give new segments new names.", entry=entry.id,
        )  # fmt: skip


def _overlap(table: str, entry: Entry, wanted: Replacement) -> StateConflict:
    shared = sorted(set(wanted.segments_from) & set(entry.segments_from)) or sorted(
        set(wanted.segments_to) & set(entry.segments_to)
    )
    return StateConflict(
        f"Lineage entry '{entry.id}' ({entry.state}) of table '{table}' already names {_listing(shared)}.",
        remedy="Wait for its end, revert it, or give forceCleanup=true to take over.", entry=entry.id, segments=shared,
    )  # fmt: skip


def _narrowed(entry: Entry, segments_to: Sequence[str]) -> tuple[str, ...]:
    listed = set(entry.segments_to)
    foreign = [s for s in segments_to if s not in listed]
    if foreign:
        raise InvalidInput(
            f"{_listing(foreign)} is not in 'segmentsTo' of lineage entry '{entry.id}'.",
            entry=entry.id,
            segments=foreign,
        )
    twice = sorted(s for s, n in Counter(segments_to).items() if n > 1)
    if twice:
        raise InvalidInput(
            f"'segmentsTo' names {_listing(twice)} more than once.", remedy="Name every segment once.", entry=entry.id
        )
    return tuple(segments_to) or entry.segments_to


def _check_present(entry: Entry, final: Sequence[str], ideal: Collection[str]) -> None:
    gone = [s for s in entry.segments_from if s not in ideal]
    if gone:
        raise PreconditionFailed(
            f"{_listing(gone)}, which lineage entry '{entry.id}' replaces, is gone from the table.",
            remedy="Revert the entry with forceRevert=true.", entry=entry.id, segments=gone,
        )  # fmt: skip
    absent = [s for s in final if s not in ideal]
    if absent:
        raise PreconditionFailed(
            f"{_listing(absent)} of lineage entry '{entry.id}' is not uploaded.", remedy="Upload it, then end again.",
            entry=entry.id, segments=absent,
        )  # fmt: skip


def _deletable(after: Lineage, segments: Iterable[str], ideal: Collection[str]) -> tuple[str, ...]:
    """Of ``segments`` those that exist, that no query sees any more and that nobody pinned; order kept, none twice."""
    gone = after.hidden() - after.pinned()
    return tuple(dict.fromkeys(s for s in segments if s in ideal and s in gone))


def _listing(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(f"'{n}'" for n in names[:most])
    return f"Segment {shown}" + (f" and {len(names) - most} more" if len(names) > most else "")
