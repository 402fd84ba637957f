"""Pause and resume of consumption: a table, topics, single partitions (seed 004; realtime-ops.md 3-5).

The flag is set first, in one write; servers see it in the ideal state and commit what they consume, the message only
makes it quicker, and ``keep_paused`` sends it again while anything still consumes (B16). A resume is one transaction:
flag and new segments (B16).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from segments.clusters.pinot import consumption as pinot_realtime
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name
from segments.domain.realtime.pause import (
    ADMINISTRATIVE,
    PauseState,
    consuming_segments,
    pause_of,
    status_json,
    time_text,
    with_pause,
)
from segments.domain.realtime.streams.stream_config import stream_maps
from segments.errors import InvalidInput, StateConflict
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.realtime.consuming_segments import Ensured, StartFrom, ensure_consuming
from segments.services.realtime.realtime_servers import send_force_commit
from segments.services.realtime.realtime_state import checked_ideal, read_ideal
from segments.services.tables.table_record import read_table_config
from segments.store import paths
from segments.store.base import Versioned
from segments.store.update import update_record

Edit = Callable[[PauseState], PauseState]
#: Is a table's pause still what somebody decided from?
Expected = Callable[[PauseState], bool]


class PauseChanged(StateConflict):
    """Somebody paused or resumed the table meanwhile: their word holds."""


def pause_status(ctx: Context, table: TableName) -> dict[str, Any]:
    """What is paused and what still consumes. NotFound, InvalidInput (disabled)."""
    if ctx.pinot is not None:
        return pinot_realtime.pause_status(ctx, table)
    ideal = read_ideal(ctx, table).record
    assert ideal is not None
    return status_json(pause_of(ideal), consuming_segments(ideal))


def pause_table(
    ctx: Context,
    table: TableName,
    *,
    comment: str | None = None,
    reason_code: str = ADMINISTRATIVE,
    resume_at_ms: int | None = None,
    expected: Expected | None = None,
    actor: Actor,
) -> dict[str, Any]:
    """Pause the whole table; returns at once with what still consumes. Repeating it rewrites reason, comment, time and
    planned end.

    Raises NotFound, InvalidInput (disabled table, planned end in the past), PauseChanged when the pause is not
    ``expected`` any more.
    """
    if ctx.pinot is not None:
        return pinot_realtime.pause_table(
            ctx, table, comment=comment, resume_at_ms=resume_at_ms, expected=expected, actor=actor
        )
    now = ctx.clock()
    if resume_at_ms is not None and resume_at_ms <= now:
        raise InvalidInput("The planned end of the pause lies in the past.", remedy="Give a later time, or none.")
    said = comment if comment is not None else actor.reason or None

    def edit(before: PauseState) -> PauseState:
        return replace(
            before,
            paused=True,
            reason_code=reason_code,
            comment=said,
            time_text=time_text(now),
            actor=actor.name,
            resume_at_ms=resume_at_ms,
        )

    ideal = _edited(ctx, table, _if_expected(table, expected, edit))
    consuming = consuming_segments(ideal)
    told = send_force_commit(ctx, ideal, consuming)
    _audit(ctx, table, "pauseConsumption", actor, comment=said, reasonCode=reason_code, consuming=consuming[:100])
    return _status(ideal, consuming, told)


def resume_table(
    ctx: Context,
    table: TableName,
    *,
    start: StartFrom | None = None,
    comment: str | None = None,
    expected: Expected | None = None,
    actor: Actor,
) -> dict[str, Any]:
    """Unpause the table and let every partition without a consuming segment go on, in one transaction; topics and
    partitions that are paused on their own stay so. Works on a table that is not paused too. The answer lists what
    consumes then.

    Raises NotFound, InvalidInput, StateConflict (too few servers, offsets for a running partition), PauseChanged (as
    ``pause_table``) and Unavailable (the stream is needed and does not answer); then nothing has changed.
    """
    if ctx.pinot is not None:
        return pinot_realtime.resume_table(ctx, table, start=start, comment=comment, expected=expected, actor=actor)
    now = ctx.clock()
    said = comment if comment is not None else actor.reason or None

    def edit(before: PauseState) -> PauseState:
        return replace(
            before,
            paused=False,
            reason_code=ADMINISTRATIVE,
            comment=said,
            time_text=time_text(now),
            actor=actor.name,
            resume_at_ms=None,
        )

    done = _resumed(ctx, table, _if_expected(table, expected, edit), start, legacy_flag=True)
    _audit(ctx, table, "resumeConsumption", actor, comment=said, done=done.sentences[:100])
    return status_json(pause_of(done.ideal), consuming_segments(done.ideal))


def pause_topics(ctx: Context, table: TableName, indices: Collection[int], *, actor: Actor) -> dict[str, Any]:
    """Pause streams of the table by their positions; others go on. The answer is the PauseState (realtime-ops.md 2)."""
    _check_topics(ctx, table, indices)
    if ctx.pinot is not None:
        return pinot_realtime.pause_topics(ctx, table, indices, actor=actor)
    ideal = _edited(ctx, table, _stamped(ctx, lambda s: s.with_topics(indices, is_paused=True)), legacy_flag=False)
    _commit_stopped(ctx, table, ideal)
    _audit(ctx, table, "pauseTopicConsumption", actor, topics=sorted(indices))
    return pause_of(ideal).to_json()


def resume_topics(
    ctx: Context, table: TableName, indices: Collection[int], *, start: StartFrom | None = None, actor: Actor
) -> dict[str, Any]:
    """Let paused streams go on, unless the whole table is paused."""
    _check_topics(ctx, table, indices)
    if ctx.pinot is not None:
        return pinot_realtime.resume_topics(ctx, table, indices, start=start, actor=actor)
    done = _resumed(ctx, table, lambda s: s.with_topics(indices, is_paused=False), start, legacy_flag=False)
    _audit(ctx, table, "resumeTopicConsumption", actor, topics=sorted(indices), done=done.sentences[:100])
    return pause_of(done.ideal).to_json()


def pause_partitions(
    ctx: Context, table: TableName, partitions: Collection[int], *, comment: str | None = None, actor: Actor
) -> dict[str, Any]:
    """Pause single partitions (B17): they are committed and stay without a consuming segment until resumed.
    InvalidInput: no such one.
    """
    if ctx.pinot is not None:
        pinot_realtime.refuse_partitions(ctx)
    said = comment if comment is not None else actor.reason or None

    def edit(before: PauseState) -> PauseState:
        noted = (
            before
            if before.paused
            else replace(before, comment=said, time_text=time_text(ctx.clock()), actor=actor.name)
        )
        return noted.with_partitions(partitions, is_paused=True)

    ideal = _edited(
        ctx, table, edit, legacy_flag=False, check=lambda record: _check_partitions(record, table, partitions)
    )
    told = _commit_stopped(ctx, table, ideal)
    _audit(ctx, table, "pausePartitions", actor, comment=said, partitions=sorted(partitions))
    return _status(ideal, consuming_segments(ideal), told)


def resume_partitions(
    ctx: Context, table: TableName, partitions: Collection[int], *, start: StartFrom | None = None, actor: Actor
) -> dict[str, Any]:
    """Let paused partitions go on, unless their topic or table is paused."""
    if ctx.pinot is not None:
        pinot_realtime.refuse_partitions(ctx)
    done = _resumed(ctx, table, lambda s: s.with_partitions(partitions, is_paused=False), start, legacy_flag=False)
    _audit(ctx, table, "resumePartitions", actor, partitions=sorted(partitions), done=done.sentences[:100])
    return status_json(pause_of(done.ideal), consuming_segments(done.ideal))


def keep_paused(ctx: Context, table: TableName, ideal: ZNRecord) -> list[str]:
    """One look of a pass: ask again for what is paused and still consumes. Level-triggered, so nothing
    is remembered.
    """
    waiting = stopped_segments(ideal, _topics(ctx, table))
    if not waiting:
        return []
    told = send_force_commit(ctx, ideal, waiting)
    lost = sorted(set(waiting) - told)
    tail = f" No server of {', '.join(lost[:3])} is alive." if lost else ""
    return [
        f"{table} is paused and {len(waiting)} segments still consume; their servers were asked to commit again.{tail}"
    ]


def is_due(state: PauseState, now_ms: int) -> bool:
    """Has the planned end of the table's pause come?"""
    return state.paused and state.resume_at_ms is not None and now_ms >= state.resume_at_ms


def stopped_segments(ideal: ZNRecord, topics: int) -> list[str]:
    """Segments that consume although their partition is paused."""
    state = pause_of(ideal)
    found = []
    for segment in consuming_segments(ideal):
        partition = partition_of(segment)
        if state.paused or (partition is not None and state.stops(partition, topics)):
            found.append(segment)
    return found


def _edited(
    ctx: Context,
    table: TableName,
    edit: Edit,
    *,
    legacy_flag: bool = True,
    check: Callable[[ZNRecord], None] | None = None,
) -> ZNRecord:
    """The ideal state after the pause state was edited, in one write."""

    def decide(node: Versioned | None) -> ZNRecord:
        ideal = checked_ideal(node, table).record
        assert ideal is not None
        if check is not None:
            check(ideal)
        return with_pause(ideal, edit(pause_of(ideal)), legacy_flag=legacy_flag)

    after = update_record(ctx.store, paths.ideal_state(table.typed), decide).after
    assert after is not None
    assert after.record is not None
    return after.record


def _resumed(ctx: Context, table: TableName, edit: Edit, start: StartFrom | None, *, legacy_flag: bool) -> Ensured:
    def change(ideal: ZNRecord) -> ZNRecord:
        after = edit(pause_of(ideal))
        if not legacy_flag and after == pause_of(ideal):
            return ideal
        return with_pause(ideal, after, legacy_flag=legacy_flag)

    read_ideal(ctx, table)
    return ensure_consuming(ctx, table, start=start, change=change)


def _if_expected(table: TableName, expected: Expected | None, edit: Edit) -> Edit:
    """Asked of the very state that is changed: what a pass decided from may be old by then."""

    def checked(before: PauseState) -> PauseState:
        if expected is not None and not expected(before):
            raise PauseChanged(f"Table {table} was paused or resumed meanwhile.")
        return edit(before)

    return checked


def _stamped(ctx: Context, edit: Edit) -> Edit:
    """The first pause state of a table gets a time; a later one keeps its own (realtime-ops.md 5)."""
    now = time_text(ctx.clock())
    return lambda state: edit(state if state.time_text else replace(state, time_text=now))


def _commit_stopped(ctx: Context, table: TableName, ideal: ZNRecord) -> set[str]:
    return send_force_commit(ctx, ideal, stopped_segments(ideal, _topics(ctx, table)))


def _topics(ctx: Context, table: TableName) -> int:
    return len(stream_maps(read_table_config(ctx, table)))


def _check_topics(ctx: Context, table: TableName, indices: Iterable[int]) -> None:
    read_ideal(ctx, table)
    count = _topics(ctx, table)
    wrong = sorted(i for i in indices if not 0 <= i < count)
    if wrong:
        raise InvalidInput(
            f"Table '{table}' reads {count} topics; there is no topic {wrong[0]}.", remedy=f"Use 0 to {count - 1}."
        )


def _check_partitions(ideal: ZNRecord, table: TableName, partitions: Collection[int]) -> None:
    known = {partition_of(s) for s in ideal.maps}
    wrong = sorted(p for p in partitions if p not in known)
    if wrong or not partitions:
        text = f"Table '{table}' has no partition {wrong[0]}." if wrong else "No partition is named."
        raise InvalidInput(text, remedy=f"Its partitions are {sorted(p for p in known if p is not None)}.")


def partition_of(segment: str) -> int | None:
    """Partition id of a consuming segment's name; None for other names."""
    return parse_llc_name(segment).partition if is_llc_name(segment) else None


def _status(ideal: ZNRecord, consuming: Sequence[str], told: Collection[str]) -> dict[str, Any]:
    """The answer to a pause; ``notReached`` names paused segments none of whose servers is alive: they commit when one
    comes back.
    """
    body = status_json(pause_of(ideal), consuming)
    lost = sorted(set(consuming) - set(told)) if pause_of(ideal).paused else []
    return body | ({"notReached": lost} if lost else {})


def _audit(ctx: Context, table: TableName, action: str, actor: Actor, **detail: Any) -> None:
    audit.record(actor, action, cluster=ctx.cluster, target=table.typed, **detail)
