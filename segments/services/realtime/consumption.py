"""Pause and resume of consumption: a table, its topics, single partitions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from segments.domain.realtime.force_commit import BatchSettings
from segments.domain.realtime.pause import ADMINISTRATIVE
from segments.domain.realtime.streams.stream_config import stream_maps
from segments.errors import InvalidInput
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import SYSTEM, Actor, Context
from segments.services.engine.consumption import Changed, Expected, PauseNote
from segments.services.realtime.consuming_segments import StartFrom
from segments.services.realtime.realtime_state import read_ideal
from segments.services.tables.table_record import read_table_config


def pause_status(ctx: Context, table: TableName) -> dict[str, Any]:
    """What is paused and what still consumes. NotFound, InvalidInput (disabled)."""
    return ctx.engine.consumption.pause_status(ctx, table)


def pause_table(
    ctx: Context,
    table: TableName,
    *,
    comment: str | None = None,
    reason_code: str = ADMINISTRATIVE,
    resume_at_ms: int | None = None,
    batch: BatchSettings | None = None,
    expected: Expected | None = None,
    actor: Actor,
) -> dict[str, Any]:
    """Pause the whole table; returns at once with what still consumes. Repeating it renews reason, time and planned
    end. ``batch``: see PauseNote.

    Raises NotFound, InvalidInput (disabled table, planned end in the past), PauseChanged when the pause is not
    ``expected`` any more, StateConflict where the cluster cannot.
    """
    if resume_at_ms is not None and resume_at_ms <= ctx.clock():
        raise InvalidInput("The planned end of the pause lies in the past.", remedy="Give a later time, or none.")
    note = replace(_note(actor, comment, reason_code, resume_at_ms), batch=batch)
    with _recorded(ctx, actor, "pauseConsumption", table, comment=note.comment) as detail:
        return _answer(ctx.engine.consumption.pause_table(ctx, table, note, expected), detail)


def resume_table(
    ctx: Context,
    table: TableName,
    *,
    start: StartFrom | None = None,
    comment: str | None = None,
    expected: Expected | None = None,
    actor: Actor,
) -> dict[str, Any]:
    """Unpause the table and let every partition without a consuming segment go on; topics and partitions that are
    paused on their own stay so. Works on a table that is not paused too. The answer lists what consumes then.

    Raises NotFound, InvalidInput, StateConflict (too few servers, offsets for a running partition, or the cluster can
    not), PauseChanged (as ``pause_table``) and Unavailable (the stream is needed and does not answer); then nothing has
    changed.
    """
    note = _note(actor, comment)
    with _recorded(ctx, actor, "resumeConsumption", table, comment=note.comment) as detail:
        return _answer(ctx.engine.consumption.resume_table(ctx, table, note, start, expected), detail)


def pause_topics(ctx: Context, table: TableName, indices: Collection[int], *, actor: Actor) -> dict[str, Any]:
    """Pause streams of the table by their positions; others go on. The answer is the PauseState."""
    _check_topics(ctx, table, indices)
    with _recorded(ctx, actor, "pauseTopicConsumption", table, topics=sorted(indices)) as detail:
        return _answer(ctx.engine.consumption.pause_topics(ctx, table, indices), detail)


def resume_topics(
    ctx: Context, table: TableName, indices: Collection[int], *, start: StartFrom | None = None, actor: Actor
) -> dict[str, Any]:
    """Let paused streams go on, unless the whole table is paused."""
    _check_topics(ctx, table, indices)
    with _recorded(ctx, actor, "resumeTopicConsumption", table, topics=sorted(indices)) as detail:
        return _answer(ctx.engine.consumption.resume_topics(ctx, table, indices, start), detail)


def pause_partitions(
    ctx: Context, table: TableName, partitions: Collection[int], *, comment: str | None = None, actor: Actor
) -> dict[str, Any]:
    """Pause single partitions: they are committed and stay without a consuming segment until resumed. InvalidInput: no
    such one.
    """
    note, named = _note(actor, comment), sorted(partitions)
    with _recorded(ctx, actor, "pausePartitions", table, comment=note.comment, partitions=named) as detail:
        return _answer(ctx.engine.consumption.pause_partitions(ctx, table, partitions, note), detail)


def resume_partitions(
    ctx: Context, table: TableName, partitions: Collection[int], *, start: StartFrom | None = None, actor: Actor
) -> dict[str, Any]:
    """Let paused partitions go on, unless their topic or table is paused."""
    with _recorded(ctx, actor, "resumePartitions", table, partitions=sorted(partitions)) as detail:
        return _answer(ctx.engine.consumption.resume_partitions(ctx, table, partitions, start), detail)


@contextmanager
def _recorded(ctx: Context, actor: Actor, action: str, table: TableName, **detail: Any) -> Iterator[dict[str, Any]]:
    """The audit record around a change. What a pass cannot do yet it tries again every few seconds, and its findings
    say why: only what it did goes on record.
    """
    if actor == SYSTEM:
        yield detail
        audit.record(actor, action, cluster=ctx.cluster, target=table.typed, **detail)
    else:
        with audit.recorded(ctx, actor, action, table.typed, **detail) as noted:
            yield noted


def _answer(changed: Changed, detail: dict[str, Any]) -> dict[str, Any]:
    detail.update(changed.detail)
    return changed.answer


def _note(
    actor: Actor, comment: str | None, reason_code: str = ADMINISTRATIVE, resume_at_ms: int | None = None
) -> PauseNote:
    return PauseNote(
        actor.name, comment if comment is not None else actor.reason or None, reason_code, resume_at_ms=resume_at_ms
    )


def _check_topics(ctx: Context, table: TableName, indices: Iterable[int]) -> None:
    read_ideal(ctx, table)
    count = len(stream_maps(read_table_config(ctx, table)))
    wrong = sorted(i for i in indices if not 0 <= i < count)
    if wrong:
        raise InvalidInput(
            f"Table '{table}' reads {count} topics; there is no topic {wrong[0]}.", remedy=f"Use 0 to {count - 1}."
        )
