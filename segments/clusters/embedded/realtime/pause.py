"""Pause and resume of a table, its topics and single partitions on the embedded cluster.

The flag is set first, in one write. Servers see it in the ideal state and commit what they consume; the message only
makes that quicker, and ``keep_paused`` sends it again while anything still consumes. A resume is one transaction: flag
and new segments.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from segments.domain.formats.plural import counted
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.llc_name import partition_of
from segments.domain.realtime.pause import PauseState, consuming_segments, pause_of, status_json, time_text, with_pause
from segments.domain.realtime.streams import changed_streams as streams_changed
from segments.domain.realtime.streams.stream_config import stream_maps
from segments.errors import InvalidInput, PinotAdminError
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.engine.consumption import Changed, Expected, PauseChanged, PauseNote
from segments.services.realtime.consuming_segments import Ensured, StartFrom, ensure_consuming
from segments.services.realtime.realtime_servers import send_force_commit
from segments.services.realtime.realtime_state import checked_ideal, read_ideal
from segments.services.realtime.resume_plan import PlannedStart, plan_resume
from segments.services.tables.table_record import read_table_config
from segments.store import paths
from segments.store.base import Versioned
from segments.store.update import update_record

Edit = Callable[[PauseState], PauseState]


def pause_status(ctx: Context, table: TableName) -> dict[str, Any]:
    """What is paused and what still consumes."""
    ideal = read_ideal(ctx, table).record
    assert ideal is not None
    return status_json(pause_of(ideal), consuming_segments(ideal))


def pause_table(ctx: Context, table: TableName, note: PauseNote, expected: Expected | None) -> Changed:
    """Set the flag, then send messages; returns at once with what still consumes."""
    edit = _if_expected(table, expected, _noted(ctx, note, is_paused=True))
    ideal = _edited(ctx, table, edit)
    consuming = consuming_segments(ideal)
    reached = send_force_commit(ctx, ideal, consuming)
    detail = {"reasonCode": note.reason_code, "consuming": consuming[:100]}
    return Changed(_status(ideal, consuming, reached), detail)


def resume_table(
    ctx: Context, table: TableName, note: PauseNote, start: StartFrom | None, expected: Expected | None
) -> Changed:
    """Unpause the table and let every partition without a consuming segment go on, in one transaction; topics and
    partitions that are paused on their own stay so. Works on a table that is not paused too. The answer lists what
    consumes then.
    """
    edit = _if_expected(table, expected, _noted(ctx, note, is_paused=False))
    return _status_after(_resumed(ctx, table, edit, start, legacy_flag=True))


def pause_topics(ctx: Context, table: TableName, indices: Collection[int]) -> Changed:
    """Pause topics by their positions; others go on."""
    ideal = _edited(ctx, table, _stamped(ctx, lambda s: s.with_topics(indices, is_paused=True)), legacy_flag=False)
    _commit_stopped(ctx, table, ideal)
    return Changed(pause_of(ideal).to_json())


def resume_topics(ctx: Context, table: TableName, indices: Collection[int], start: StartFrom | None) -> Changed:
    """Let paused topics go on, unless the whole table is paused."""
    done = _resumed(ctx, table, lambda s: s.with_topics(indices, is_paused=False), start, legacy_flag=False)
    return Changed(pause_of(done.ideal).to_json(), {"done": done.sentences[:100]})


def pause_partitions(ctx: Context, table: TableName, partitions: Collection[int], note: PauseNote) -> Changed:
    """They are committed and stay without a consuming segment until resumed."""
    now = time_text(ctx.clock())

    def edit(before: PauseState) -> PauseState:
        after = before.with_partitions(partitions, is_paused=True)
        return after if before.paused else replace(after, comment=note.comment, time_text=now, actor=note.actor)

    check = lambda record: _check_partitions(record, table, partitions)  # noqa: E731  (short, used once)
    ideal = _edited(ctx, table, edit, legacy_flag=False, check=check)
    reached = _commit_stopped(ctx, table, ideal)
    return Changed(_status(ideal, consuming_segments(ideal), reached))


def resume_partitions(ctx: Context, table: TableName, partitions: Collection[int], start: StartFrom | None) -> Changed:
    """Let paused partitions go on, unless their topic or table is paused."""
    done = _resumed(ctx, table, lambda s: s.with_partitions(partitions, is_paused=False), start, legacy_flag=False)
    return _status_after(done)


def keep_paused(ctx: Context, table: TableName, ideal: ZNRecord) -> list[str]:
    """Send messages again for what is paused and still consumes. Level-triggered, so nothing is remembered."""
    waiting = _stopped_segments(ideal, _topics(ctx, table))
    if not waiting:
        return []
    reached = send_force_commit(ctx, ideal, waiting)
    lost = sorted(set(waiting) - reached)
    tail = f" No server of {', '.join(lost[:3])} is alive." if lost else ""
    return [
        f"{table} is paused and {counted(len(waiting), 'segment', 'still consumes', 'still consume')}; "
        f"the servers were asked to commit again.{tail}"
    ]


def changed_streams(ctx: Context, table: TableName) -> Mapping[int, str]:
    """{partition: the stream it stopped in}, as the ideal state has them."""
    node = ctx.store.get(paths.ideal_state(table.typed))
    return streams_changed.of(node.record) if node and node.record else {}


def waiting(ctx: Context, table: TableName) -> Sequence[PlannedStart]:
    """Where each partition that nothing consumes would go on; empty when the stream does not answer."""
    try:
        return plan_resume(ctx, table, StartFrom("lastConsumed"))
    except PinotAdminError:
        return []


def _noted(ctx: Context, note: PauseNote, *, is_paused: bool) -> Edit:
    """The table paused or running, and who did it, why and when."""
    now = time_text(ctx.clock())
    return lambda before: replace(
        before,
        paused=is_paused,
        reason_code=note.reason_code,
        comment=note.comment,
        time_text=now,
        actor=note.actor,
        resume_at_ms=note.resume_at_ms,
    )


def _stopped_segments(ideal: ZNRecord, topics: int) -> list[str]:
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
    """The edit, or PauseChanged: what a pass decided from may be old by then."""

    def checked(before: PauseState) -> PauseState:
        if expected is not None and not expected(before):
            raise PauseChanged(f"Table {table} was paused or resumed meanwhile.")
        return edit(before)

    return checked


def _stamped(ctx: Context, edit: Edit) -> Edit:
    """The first pause state of a table gets a time; a later one keeps its own."""
    now = time_text(ctx.clock())
    return lambda state: edit(state if state.time_text else replace(state, time_text=now))


def _commit_stopped(ctx: Context, table: TableName, ideal: ZNRecord) -> set[str]:
    return send_force_commit(ctx, ideal, _stopped_segments(ideal, _topics(ctx, table)))


def _topics(ctx: Context, table: TableName) -> int:
    return len(stream_maps(read_table_config(ctx, table)))


def _check_partitions(ideal: ZNRecord, table: TableName, partitions: Iterable[int]) -> None:
    known = {partition_of(s) for s in ideal.maps}
    wrong = sorted(p for p in partitions if p not in known)
    if wrong or not partitions:
        text = f"Table '{table}' has no partition {wrong[0]}." if wrong else "No partition is named."
        raise InvalidInput(text, remedy=f"Its partitions are {sorted(p for p in known if p is not None)}.")


def _status(ideal: ZNRecord, consuming: Sequence[str], reached: Collection[str]) -> dict[str, Any]:
    """The answer to a pause; ``notReached`` names paused segments none of whose servers is alive: they commit when one
    comes back.
    """
    body = status_json(pause_of(ideal), consuming)
    lost = sorted(set(consuming) - set(reached)) if pause_of(ideal).paused else []
    return body | ({"notReached": lost} if lost else {})


def _status_after(done: Ensured) -> Changed:
    answer = status_json(pause_of(done.ideal), consuming_segments(done.ideal))
    return Changed(answer, {"done": done.sentences[:100]})
