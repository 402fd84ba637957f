"""The next step of a rebalance, decided from what is there now: load on new servers, wait until they serve, remove from
the old ones.

Invariant: a replica is removed only when as many replicas of the target are served as the rebalance needs; so a segment
is always on the servers that had it, on those and the new ones together, or on the new ones. Each step is one write of
ideal state and record together, and each state that it leaves is one to go on from, or to stay in.

Where rows decide about one another, this holds of whole partitions: all segments of one are launched in one write, a
server counts when it serves all of them, and all land in one write; what was committed meanwhile is among them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from segments.domain.formats.plural import counted
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.rebalance.job import Flight, Job, Size, Status
from segments.domain.rebalance.target import Row, moves, row_on, targets
from segments.domain.rebalance.units import unit_of, units_of
from segments.domain.segments import ideal_state
from segments.domain.segments.ideal_state import CONSUMING, OFFLINE
from segments.errors import StateConflict

#: Segments in flight at once: a part of all, within these bounds. A step is one write of the ideal state.
_PART: Final = 20
_FEWEST: Final = 50
_MOST: Final = 1000
#: A rebalance that moved so many times what it planned is chasing a table that changes faster.
_CHASING: Final = 2

Serving = Mapping[str, Collection[str]]


@dataclass(frozen=True)
class Step:
    """What to write: the job, and the ideal state (the very one that was read when nothing changes in it)."""

    job: Job
    ideal: ZNRecord


def next_step(job: Job, ideal: ZNRecord, serving: Serving, now_ms: int) -> Step | None:
    """The step that can be taken now; None while replicas are waited for. ``serving``: {segment: live servers that
    answer queries from it}.
    """
    landed = _land(job, ideal, serving, now_ms)
    try:
        step = _launch(landed, now_ms)
    except StateConflict as error:
        return stopped(landed.job, landed.ideal, serving, Status.FAILED, error.message, now_ms)
    if step is not landed:
        return step
    if step.job.in_flight or _commits_left(step.job, step.ideal):
        if step.job is not job:
            return step
        if now_ms - job.progressed_ms > job.options.stalled_ms:
            return stopped(job, ideal, serving, Status.FAILED, _stalled(job), now_ms)
        return None
    return Step(step.job.finished(Status.DONE, _done(step.job), now_ms), step.ideal)


def stopped(job: Job, ideal: ZNRecord, serving: Serving, status: Status, message: str, now_ms: int) -> Step:
    """The end of a rebalance before its time. Segments in flight that are served as they should be are where they
    belong; the others go back to the servers that had them, which never left.
    """
    landed = _land(job, ideal, serving, now_ms)
    units = units_of(job.placement, landed.ideal.maps)
    back = {
        s: row_on(landed.ideal.maps[s], kept)
        for unit, f in landed.job.in_flight.items()
        for s in units[unit]
        if (kept := [i for i in landed.ideal.maps[s] if i in f.before])
    }
    ended = ideal_state.with_rows(landed.ideal, back) if back else landed.ideal
    return Step(landed.job.finished(status, message, now_ms), ended)


def waiting_for(job: Job, ideal: ZNRecord, serving: Serving) -> dict[str, list[str]]:
    """{segment in flight: servers that do not serve it yet}."""
    units = units_of(job.placement, ideal.maps)
    return {
        s: missing
        for unit, f in job.in_flight.items()
        for s in units.get(unit, ())
        if (missing := [i for i in f.target if i not in serving.get(s, ())])
    }


def _land(job: Job, ideal: ZNRecord, serving: Serving, now_ms: int) -> Step:
    """Segments whose replicas of the target are served leave their old servers; what was deleted meanwhile is no longer
    in flight.
    """
    units = units_of(job.placement, ideal.maps)
    there = {unit: f for unit, f in job.in_flight.items() if unit in units}
    rows_of = {unit: {s: ideal.maps[s] for s in units[unit]} for unit in there}
    arrived = {unit: f for unit, f in there.items() if _has_arrived(job, rows_of[unit], f, serving)}
    if len(arrived) == len(job.in_flight) == 0 or (not arrived and len(there) == len(job.in_flight)):
        return Step(job, ideal)
    rows = {s: row_on(row, f.target) for unit, f in arrived.items() for s, row in rows_of[unit].items() if row}
    left = {unit: f for unit, f in there.items() if unit not in arrived}
    done = job.done.plus(_size(arrived, job.bytes_each))
    moved = replace(job, in_flight=left, done=done, progressed_ms=now_ms)
    return Step(moved, ideal_state.with_rows(ideal, rows) if rows else ideal)


def _launch(step: Step, now_ms: int) -> Step:
    """Let more segments go, when enough have landed: they load next to the old copies, or where
    nothing is waited for, are there at once.

    Which go is planned again from what is there, and not kept from the start: segments were committed, uploaded and
    deleted meanwhile, and a plan of all of them would not fit into the job's record. Same placement, same plan.
    """
    job, ideal = step.job, step.ideal
    flying_now = sum(f.segments for f in job.in_flight.values())
    room = min(_MOST, max(_FEWEST, job.planned.segments // _PART)) - flying_now
    if flying_now > 0 and room < _FEWEST // 2:
        return step
    flights = _chosen(job, ideal, room)
    if not flights:
        return step
    if job.done.segments > _CHASING * job.planned.segments + _FEWEST:
        raise StateConflict("The table changes faster than it can be balanced.", remedy="Try again when it is quiet.")
    at_once = {unit: f for unit, f in flights.items() if job.options.needed(len(f.target)) == 0}
    units = units_of(job.placement, ideal.maps)
    rows = {
        s: row_on(ideal.maps[s], f.target if unit in at_once else {*ideal.maps[s], *f.target})
        for unit, f in flights.items()
        for s in units[unit]
        if ideal.maps[s]
    }
    flying = {**job.in_flight, **{unit: f for unit, f in flights.items() if unit not in at_once}}
    done = job.done.plus(_size(at_once, job.bytes_each))
    gone = replace(job, in_flight=flying, done=done, progressed_ms=now_ms)
    return Step(gone, ideal_state.with_rows(ideal, rows))


def _chosen(job: Job, ideal: ZNRecord, room: int) -> dict[str, Flight]:
    """The next segments to move, at most ``room``, and no more for one server than it may load at a time; of a
    partition that moves whole all of them, where there is any room.
    """
    units = units_of(job.placement, ideal.maps)
    moved = _left_to_move(job, ideal, units)
    loading: Counter[str] = Counter()
    for flight in job.in_flight.values():
        loading.update(dict.fromkeys(flight.added, flight.segments))
    at_most, count = job.options.batch_per_server, 0
    chosen: dict[str, Flight] = {}
    for segment, target in moved.items():
        unit = unit_of(job.placement, segment)
        if unit in chosen or unit in job.in_flight:
            continue
        if count >= room:
            break
        names = units[unit]
        flight = Flight(tuple(sorted({i for s in names for i in ideal.maps[s]})), target, len(names))
        if at_most > 0 and any(loading[i] >= at_most for i in flight.added):
            continue
        loading.update(dict.fromkeys(flight.added, len(names)))
        chosen[unit], count = flight, count + len(names)
    return chosen


def _left_to_move(job: Job, ideal: ZNRecord, units: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """{segment: its target}, where it is not yet. A partition waits as a whole for what is committed in it first."""
    rows = dict(ideal.maps)
    for unit, flight in job.in_flight.items():  # counts as where it goes to, so that the others' shares are right
        rows.update({s: row_on(rows[s], flight.target) for s in units.get(unit, ())})
    found = targets(job.placement, rows, include_consuming=job.options.include_consuming and not job.commits)
    waits = {unit_of(job.placement, s) for s in _commits_left(job, ideal)}
    return {s: target for s, target in moves(found, rows).items() if unit_of(job.placement, s) not in waits}


def _has_arrived(job: Job, rows: Mapping[str, Row], flight: Flight, serving: Serving) -> bool:
    """Do as many servers of the target as are needed serve all of these? What is switched off nobody serves."""
    wanted = [frozenset(serving.get(s, ())) for s, row in rows.items() if set(row.values()) - {OFFLINE}]
    served = [i for i in flight.target if all(i in found for found in wanted)]
    return len(served) >= job.options.needed(len(flight.target))


def _commits_left(job: Job, ideal: ZNRecord) -> list[str]:
    return [s for s in job.commits if CONSUMING in ideal.maps.get(s, {}).values()]


def _size(flights: Mapping[str, Flight], bytes_each: int) -> Size:
    added = sum(len(f.added) * f.segments for f in flights.values())
    removed = sum(len(f.removed) * f.segments for f in flights.values())
    return Size(added, removed, sum(f.segments for f in flights.values()), added * bytes_each)


def _stalled(job: Job) -> str:
    what = f"'{min(job.in_flight)}' is not served by its new servers" if job.in_flight else "nothing committed"
    return (
        f"Nothing progressed for {job.options.stalled_ms // 1000} s: {what}. Segments that were on their way are back "
        "where they were. Check the servers, then rebalance again."
    )


def _done(job: Job) -> str:
    moved = counted(job.done.segments, "segment", "was", "were")
    return f"{moved} moved: {counted(job.done.added, 'replica')} loaded, {job.done.removed} removed."
