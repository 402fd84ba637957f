"""Which segments are served right now, and waiting until they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from segments.domain.segments.ideal_state import ERROR, SEGMENT_CRC, SERVING, serving
from segments.errors import PreconditionFailed
from segments.names import TableName
from segments.services.core.context import Context
from segments.store import paths
from segments.store.base import Versioned
from segments.store.change_signal import change_signal
from segments.store.shared_read import read_together

Rows = Mapping[str, Mapping[str, str]]
#: Ideal state, external view, {live instance: {segment: CRC it serves}}.
Served = tuple[Rows, Rows, dict[str, dict[str, str]]]

#: Reported while waiting: replicas that are online, replicas that are waited for.
Progress = Callable[[int, int], None]

_GATHER_S = 0.02
#: From so many segments on, only those that were missing are read again.
_MANY = 1000


def serving_rows(ctx: Context, table: TableName, ideal: Mapping[str, Mapping[str, str]]) -> dict[str, bool]:
    """{segment of the ideal state: does a live instance serve it?}"""
    live = live_instance_names(ctx)
    return served_by(live, ctx.store.get(paths.external_view(table.typed)), ideal)


def served_by(live: Collection[str], view: Versioned | None, ideal: Iterable[str]) -> dict[str, bool]:
    """{segment: does one of the live instances serve it by this external view?}"""
    rows = _rows(view)
    return {s: any(i in live for i in serving(rows.get(s, {}))) for s in ideal}


def live_instance_names(ctx: Context) -> set[str]:
    """Instances that are there now."""
    return set(ctx.store.children(paths.LIVE_INSTANCES))


def wait_until_online(
    ctx: Context,
    table: TableName,
    segments: Sequence[str],
    *,
    progress: Progress | None = None,
    required: int | None = None,
    is_worth_it: Callable[[], None] | None = None,
) -> None:
    """Wait until live replicas of these segments serve the file on record: all of them, or ``required`` of each; always
    at least one (rule `all-replicas-first`).

    A replica that still serves an older file of that name (a refresh under way) is waited for too. ``progress`` gets
    the number of online replicas whenever it changes. ``is_worth_it`` is called before every further read, and raises
    when waiting is in vain. Raises PreconditionFailed when a replica is in ERROR and no other serves the segment, or at
    ``limits.replicas_online_s``.
    """
    deadline = ctx.timer.seconds() + ctx.limits.replicas_online_s
    left, total, reads, reported = list(segments), 0, 0, (-1, -1)
    signal = change_signal(ctx.store, paths.EXTERNAL_VIEWS)
    while True:
        heard, reads, began = signal.count, reads + 1, ctx.timer.seconds()
        # Of many only what was missing is read again; what was there is proven once more, all together, at the end.
        seen = check_online(ctx, table, left, required)
        is_whole = len(left) == len(segments)
        total = seen.counted[1] if is_whole else total
        counted = (total - seen.counted[1] + seen.counted[0], total)
        if progress is not None and reported != counted:
            reported = counted
            progress(*counted)
        _check_in_time(ctx, table, seen, len(segments), deadline)
        if not seen.waiting and is_whole:
            return
        left = (seen.waiting if len(segments) > _MANY else None) or list(segments)
        if seen.waiting:
            if is_worth_it is not None:
                is_worth_it()
            signal.wait(heard, poll_interval_s(ctx, reads))
            # When many load at once the views change all the time: who has read often lets some changes come together.
            ctx.timer.pause(max(0.0, began + min(_GATHER_S, reads / 500) - ctx.timer.seconds()))


def _check_in_time(ctx: Context, table: TableName, seen: SegmentsSeen, wanted: int, deadline: float) -> None:
    """PreconditionFailed when a segment cannot be loaded, or some are still missing after the deadline."""
    if seen.broken:
        raise PreconditionFailed(
            f"Segment '{seen.broken[0]}' of table '{table}' could not be loaded by any server.",
            remedy="Read the servers' errors, upload it again, or revert the replacement.",
            segments=seen.broken,
        )
    if seen.waiting and ctx.timer.seconds() > deadline:
        raise PreconditionFailed(
            f"{len(seen.waiting)} of {wanted} new segments of table '{table}' are not online after"
            f" {ctx.limits.replicas_online_s:.0f} s, e.g. '{seen.waiting[0]}'.",
            remedy="Check the servers, then end again.",
            segments=seen.waiting,
        )


def poll_interval_s(ctx: Context, reads: int) -> float:
    """Seconds until the next read after ``reads`` of them."""
    return ctx.engine.segments.poll_interval_s(reads)


@dataclass(frozen=True)
class SegmentsSeen:
    """``waiting``: segments not ready; ``broken``: in ERROR wherever they are; ``counted``: replicas (online, waited
    for).
    """

    waiting: list[str]
    broken: list[str]
    counted: tuple[int, int]


def check_online(ctx: Context, table: TableName, segments: Sequence[str], required: int | None) -> SegmentsSeen:
    """Which of the segments wait for a live replica that is missing or serves an older file.

    The records, which name the file, are read only when all replicas are there: many may wait for one table at once,
    and read often.
    """
    if not segments:
        return SegmentsSeen([], [], (0, 0))
    serving_now = read_served(ctx, table)
    seen = judge_segments(segments, serving_now, None, required)
    if seen.waiting:
        return seen
    crcs = recorded_crcs(ctx, table, segments)
    return judge_segments(segments, serving_now, crcs, required) if _is_stale(segments, serving_now, crcs) else seen


def _is_stale(segments: Sequence[str], served: Served, crcs: Mapping[str, str]) -> bool:
    """Does any live server serve another file than the one on record?"""
    return any(
        row and any(not is_file_on_record(row.get(s), crcs.get(s)) for s in segments) for row in served[2].values()
    )


def is_file_on_record(served: str | None, recorded: str | None) -> bool:
    """Is the file with the CRC that a server serves the one on record? Every file is, while it serves none that it
    knows of, and while a segment that is being committed has no CRC on record ("").
    """
    return served is None or recorded in ("", served)


def judge_segments(
    segments: Sequence[str], served: Served, crcs: Mapping[str, str] | None, required: int | None
) -> SegmentsSeen:
    """As ``check_online``, of what was read already. ``crcs`` of the files on record; without them every file is
    the right one.
    """
    node, view, live = served
    waiting, broken, done, total = [], [], 0, 0
    for segment in segments:
        states, crc = view.get(segment, {}), crcs.get(segment) if crcs is not None else None
        wanted = [i for i in node.get(segment, {}) if i in live]
        online = [
            i
            for i in wanted
            if states.get(i) in SERVING and (crcs is None or is_file_on_record(live[i].get(segment), crc))
        ]
        needed = min(len(wanted), required or len(wanted))
        done, total = done + min(len(online), needed), total + max(needed, 1)
        failed = sum(1 for i in wanted if states.get(i) == ERROR)
        if online and len(online) + failed >= needed:
            continue
        waiting.append(segment)
        if wanted and failed == len(wanted):
            broken.append(segment)
    return SegmentsSeen(waiting, broken, (done, total))


def read_served(ctx: Context, table: TableName) -> Served:
    """Ideal state, external view, {live instance: {segment: CRC it serves}}; one read for all threads that ask at the
    same time.
    """
    return read_together(ctx.store, f"replicas of {table.typed}", lambda: _read_table(ctx, table))


def _read_table(ctx: Context, table: TableName) -> Served:
    instances = ctx.store.children(paths.LIVE_INSTANCES)
    fixed = [paths.ideal_state(table.typed), paths.external_view(table.typed)]
    ideal, view, *nodes = ctx.store.get_many([*fixed, *(paths.live_instance(i) for i in instances)])
    live = {
        i: n.record.simple.get("SESSION_ID", "") if n.record else "" for i, n in zip(instances, nodes, strict=True) if n
    }
    known = [i for i, session in live.items() if session]
    states = ctx.store.get_many([paths.current_state(i, live[i], table.typed) for i in known])
    return (
        _rows(ideal),
        _rows(view),
        {**{i: {} for i in live}, **{i: _crcs(n) for i, n in zip(known, states, strict=True)}},
    )


def recorded_crcs(ctx: Context, table: TableName, segments: Sequence[str]) -> dict[str, str]:
    """{segment: CRC on record} of those that have a record."""
    records = ctx.store.get_many([paths.segment(table.typed, s) for s in segments])
    return {s: n.record.simple.get("segment.crc", "") for s, n in zip(segments, records, strict=True) if n and n.record}


def _crcs(node: Versioned | None) -> dict[str, str]:
    rows = node.record.maps if node and node.record else {}
    return {s: row[SEGMENT_CRC] for s, row in rows.items() if SEGMENT_CRC in row}


def _rows(node: Versioned | None) -> Rows:
    return node.record.maps if node and node.record else {}
