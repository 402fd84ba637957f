"""Consumption of a real Pinot's tables: pause and resume through its REST; who and why, and planned ends, are kept by
us.

What a version lacks is refused with the reason before anything is sent. A pause whose answer is lost or a 500 is read
back from the pause status: Pinot answers 500 when no server could be messaged although the pause is set.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn

from segments.clusters.pinot.calls import quoted, read_object, require, version
from segments.clusters.pinot.changes import Request, change, send_change
from segments.domain.formats.plural import counted
from segments.domain.pinot import capabilities
from segments.domain.pinot.capabilities import has
from segments.domain.pinot.refusal_rules import NO_SERVER_NOTIFIED
from segments.domain.realtime.pause import PauseState, pause_of, status_json, time_text
from segments.errors import NotFound, OutcomeUnknown, PinotAdminError, RecordCorrupt, StateConflict
from segments.names import REALTIME, TableName
from segments.services.core.context import SYSTEM, Context
from segments.services.engine.consumption import Changed, Expected, PauseChanged, PauseNote
from segments.services.realtime import consumption
from segments.services.realtime.consuming_segments import StartFrom
from segments.services.realtime.resume_plan import PlannedStart
from segments.store import paths
from segments.store.records.document import Documents

log = logging.getLogger(__name__)

#: A pause that has not stopped all consumers after this long is sent again, and then after every such while.
_SEND_AGAIN_MS: Final = 60_000


@dataclass(frozen=True)
class OurPause:
    """What we know of a table's pause beyond Pinot. Times in epoch milliseconds; ``asked_ms``: when the
    pause was sent last; ``batch``: the parameters of its batches.
    """

    actor: str
    comment: str
    at_ms: int
    resume_at_ms: int | None = None
    asked_ms: int = 0
    batch: Mapping[str, str] = field(default_factory=dict)


def _pauses(table: TableName) -> Documents[OurPause]:
    what = "The record of the pause of '{}'"
    return Documents("pause", what, lambda _: table.typed, lambda p: p.__dict__, lambda _, body: OurPause(**body))


def pause_status(ctx: Context, table: TableName) -> dict[str, Any]:
    """Pinot's document, with who paused it, why, and the planned end where we know. NotFound; InvalidInput for a
    disabled table.
    """
    return _with_ours(read_object(ctx, f"/tables/{quoted(table.raw)}/pauseStatus"), read_pause(ctx, table))


def pause_table(ctx: Context, table: TableName, note: PauseNote, expected: Expected | None) -> Changed:
    """Pause the table; Pinot's document with ours."""
    require(ctx, capabilities.PAUSE)
    _check_expected(ctx, table, expected)
    now, comment = ctx.clock(), note.comment or ""
    batch = note.batch.to_params() if note.batch else {}
    if batch:
        require(ctx, capabilities.FORCE_COMMIT_BATCH)
    with _kept(ctx, table, OurPause(note.actor, comment, now, note.resume_at_ms, now, batch)):
        send_change(
            ctx,
            Request(
                "POST", f"/tables/{quoted(table.raw)}/pauseConsumption", {**(_comment(ctx, comment) or {}), **batch}
            ),
            is_done=lambda: _is_paused(ctx, table),
            halfway=NO_SERVER_NOTIFIED,
        )
    return Changed(pause_status(ctx, table))


def resume_table(
    ctx: Context, table: TableName, note: PauseNote, start: StartFrom | None, expected: Expected | None
) -> Changed:
    """Let the table go on. Offsets of the caller's choice are refused with the reason: Pinot takes only its three
    words.
    """
    require(ctx, capabilities.PAUSE)
    _check_expected(ctx, table, expected)
    params = {"consumeFrom": _word(ctx, start), **(_comment(ctx, note.comment) or {})}
    send_change(
        ctx,
        Request("POST", f"/tables/{quoted(table.raw)}/resumeConsumption", params),
        is_done=lambda: not _is_paused(ctx, table),
    )
    ctx.store.delete(paths.pause(table.typed))
    return Changed(pause_status(ctx, table))


def pause_topics(ctx: Context, table: TableName, indices: Collection[int]) -> Changed:
    """Pause some of its topics; the answer is Pinot's PauseState."""
    return _send_topics(ctx, table, indices, is_paused=True)


def resume_topics(ctx: Context, table: TableName, indices: Collection[int], start: StartFrom | None) -> Changed:
    """Let them go on."""
    require(ctx, capabilities.PAUSE_TOPICS)
    return _send_topics(ctx, table, indices, is_paused=False, consumeFrom=_word(ctx, start))


def pause_partitions(ctx: Context, table: TableName, partitions: Collection[int], note: PauseNote) -> NoReturn:
    """StateConflict: no version of Pinot pauses single partitions."""
    _refuse_partitions(ctx)


def resume_partitions(ctx: Context, table: TableName, partitions: Collection[int], start: StartFrom | None) -> NoReturn:
    """StateConflict, as ``pause_partitions``."""
    _refuse_partitions(ctx)


def consuming_segments_info(ctx: Context, table: TableName) -> dict[str, Any]:
    """Pinot's document: what every replica of a consuming segment says. NotFound."""
    found = read_object(ctx, f"/tables/{quoted(table.raw)}/consumingSegmentsInfo")
    return {"_segmentToConsumingInfoMap": {}, "serversFailingToRespond": 0, "serversUnparsableRespond": 0} | found


def pauseless_debug_info(ctx: Context, table: TableName) -> dict[str, Any]:
    """Pinot's document: segments in ERROR by server, and those that are being committed. NotFound."""
    require(ctx, capabilities.PAUSELESS)
    found = read_object(ctx, f"/tables/{quoted(table.raw)}/pauselessDebugInfo")
    return {"instanceToErrorSegmentsMap": {}, "committingSegments": []} | found


def waiting(ctx: Context, table: TableName) -> Sequence[PlannedStart]:
    """None: streams of a Pinot are not asked every minute from here."""
    return ()


def changed_streams(ctx: Context, table: TableName) -> Mapping[int, str]:
    """None: Pinot does not record in which stream a partition stopped."""
    return {}


def keep(ctx: Context) -> list[str]:
    """Planned ends that have come, and pauses that some consumers have not received."""
    sentences: list[str] = []
    for typed in ctx.store.children(paths.PAUSES):
        table = TableName(typed.removesuffix("_" + REALTIME), REALTIME)
        try:
            sentences += _keep_pause(ctx, table)
        except NotFound:
            ctx.store.delete(paths.pause(typed))  # the table was dropped
        except PinotAdminError as error:
            log.warning("The pause of %s could not be kept: %s", typed, error)
            sentences.append(f"The pause of {typed} could not be kept: {error}")
    return sentences


def read_pause(ctx: Context, table: TableName) -> OurPause | None:
    """What we know of the table's pause; None: it was not paused through us."""
    try:
        return _pauses(table).read(ctx.store, paths.pause(table.typed))
    except RecordCorrupt as error:
        log.warning("%s", error.message)
        return None


def _keep_pause(ctx: Context, table: TableName) -> list[str]:
    ours = read_pause(ctx, table)
    if ours is None:
        return []
    status = pause_status(ctx, table)
    now = ctx.clock()
    if not status.get("pauseFlag"):
        ctx.store.delete(paths.pause(table.typed))
        return [f"{table} was resumed elsewhere; its planned end is void."] if ours.resume_at_ms is not None else []
    if ours.resume_at_ms is not None and now >= ours.resume_at_ms:
        comment = "The planned end of the pause has come."
        consumption.resume_table(ctx, table, comment=comment, expected=lambda s: s.paused, actor=SYSTEM)
        return [f"{table} goes on: the planned end of its pause has come."]
    waiting = status.get("consumingSegments") or []
    if not waiting or now - ours.asked_ms < _SEND_AGAIN_MS:
        return []
    _send_again(ctx, table, replace(ours, asked_ms=now))
    still = counted(len(waiting), "segment", "still consumes", "still consume")
    return [f"{table} is paused and {still}; Pinot was asked again."]


def _send_again(ctx: Context, table: TableName, ours: OurPause) -> None:
    _keep(ctx, table, ours)
    change(
        ctx,
        SYSTEM,
        "pauseConsumption",
        table.typed,
        ("POST", f"/tables/{quoted(table.raw)}/pauseConsumption"),
        params={**(_comment(ctx, ours.comment) or {}), **ours.batch},
        is_done=lambda: True,
        halfway=NO_SERVER_NOTIFIED,
        again=True,
    )


def _comment(ctx: Context, comment: str | None) -> dict[str, str | None] | None:
    """The parameter with the reason, for versions that take one."""
    return {"comment": comment or None} if has(version(ctx), capabilities.PAUSE_COMMENT) else None


def _send_topics(
    ctx: Context, table: TableName, indices: Collection[int], *, is_paused: bool, **params: str | None
) -> Changed:
    require(ctx, capabilities.PAUSE_TOPICS)
    wanted = set(indices)

    def is_done() -> bool:
        off = set(pause_status(ctx, table).get("indexOfInactiveTopics") or _inactive(ctx, table))
        return wanted <= off if is_paused else not wanted & off

    path = f"/tables/{quoted(table.raw)}/{'pause' if is_paused else 'resume'}TopicConsumption"
    query = {"topicIndices": ",".join(map(str, sorted(wanted))), **params}
    answer = send_change(ctx, Request("POST", path, query), is_done=is_done, halfway=NO_SERVER_NOTIFIED)
    return Changed(answer if isinstance(answer, dict) else pause_status(ctx, table))


def _refuse_partitions(ctx: Context) -> NoReturn:
    require(ctx, capabilities.PAUSE_PARTITIONS)
    text = f"Pinot {version(ctx) or ''}".strip() + " has no pause of single partitions that is known here."
    raise StateConflict(text, remedy="Pause the table, or its topic.")


def _inactive(ctx: Context, table: TableName) -> tuple[int, ...]:
    """Not all versions that have topics list them in the status; the ideal state does."""
    node = ctx.store.get(paths.ideal_state(table.typed))
    return pause_of(node.record).inactive_topics if node and node.record else ()


def _word(ctx: Context, start: StartFrom | None) -> str | None:
    if start is not None and start.offsets:
        require(ctx, capabilities.RESUME_OFFSETS)
        raise StateConflict("Pinot takes no offsets at a resume.", remedy="Use lastConsumed, smallest or largest.")
    word = start.word if start is not None else "lastConsumed"
    is_plain = word == "lastConsumed" and not has(version(ctx), capabilities.RESUME_LAST)
    return None if is_plain else word


def _is_paused(ctx: Context, table: TableName) -> bool:
    return bool(pause_status(ctx, table).get("pauseFlag"))


def _check_expected(ctx: Context, table: TableName, expected: Expected | None) -> None:
    if expected is None:
        return
    status = pause_status(ctx, table)
    code = str(status.get("reasonCode") or "ADMINISTRATIVE")
    state = PauseState(paused=bool(status.get("pauseFlag")), comment=status.get("comment"), reason_code=code)
    if not expected(state):
        raise PauseChanged(f"Table {table} was paused or resumed meanwhile.", remedy="Check its pause status.")


def _with_ours(found: dict[str, Any], ours: OurPause | None) -> dict[str, Any]:
    """Pinot's document with what is kept here. Versions that take no comment answer only the flag and the segments: the
    rest is added.
    """
    state = PauseState(paused=bool(found.get("pauseFlag")))
    if ours is not None and state.paused:
        state = replace(state, time_text=time_text(ours.at_ms))
    status = {**status_json(state, ()), **found}
    if ours is None or not status.get("pauseFlag"):
        return status
    status["actor"] = ours.actor
    theirs = str(status.get("comment") or "").strip()
    if ours.comment and (not theirs or theirs.startswith("Table is paused")):
        status["comment"] = ours.comment
    if ours.resume_at_ms is not None:
        status["resumeAtMs"] = ours.resume_at_ms
    return status


@contextmanager
def _kept(ctx: Context, table: TableName, pause: OurPause) -> Iterator[None]:
    """The pause is on record before it is sent to Pinot; what was on record comes back when Pinot did nothing."""
    before = read_pause(ctx, table)
    _keep(ctx, table, pause)
    try:
        yield
    except OutcomeUnknown:
        raise
    except PinotAdminError:
        if before is not None:
            _keep(ctx, table, before)
        else:
            ctx.store.delete(paths.pause(table.typed))
        raise


def _keep(ctx: Context, table: TableName, pause: OurPause) -> None:
    _pauses(table).write(ctx.store, paths.pause(table.typed), pause)
