"""Consumption of a real Pinot's tables: pause, resume, force commit through its REST; who and why, and planned ends,
are kept by us.

What a version lacks is said with the reason before anything is sent. A pause whose answer is lost or a 500 is looked
for in the pause status: Pinot answers 500 when no server could be told although the pause is set (realtime-ops.md 3).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

from segments.clusters.pinot.calls import quoted, read_object, require, version
from segments.clusters.pinot.changes import change
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.pinot import version as pinot_version
from segments.domain.pinot.refusals import NO_SERVER_TOLD
from segments.domain.pinot.version import has
from segments.domain.realtime.pause import PauseState, pause_of, status_json, time_text
from segments.errors import InvalidInput, NotFound, OutcomeUnknown, PinotAdminError, StateConflict
from segments.names import REALTIME, TableName
from segments.services.core.context import SYSTEM, Actor, Context
from segments.services.realtime.consuming_segments import StartFrom
from segments.store import paths
from segments.store.base import Versioned
from segments.store.update import update_record

log = logging.getLogger(__name__)

_FIELD: Final = "pause"
#: A pause that has not stopped all consumers after this long is asked for again, and then after every such while (B16).
_ASK_AGAIN_MS: Final = 60_000


@dataclass(frozen=True)
class OurPause:
    """What we know of a table's pause beyond Pinot. Times in epoch milliseconds; ``asked_ms``: when Pinot was asked
    last.
    """

    actor: str
    comment: str
    at_ms: int
    resume_at_ms: int | None = None
    asked_ms: int = 0

    def to_record(self, table: TableName) -> ZNRecord:
        """For ZooKeeper."""
        return ZNRecord(table.typed, {_FIELD: json.dumps(self.__dict__, separators=(",", ":"))})


def pause_status(ctx: Context, table: TableName) -> dict[str, Any]:
    """Pinot's document, with who paused it, why, and the planned end where we know. NotFound; InvalidInput for a
    disabled table.
    """
    return _with_ours(read_object(ctx, f"/tables/{quoted(table.raw)}/pauseStatus"), read_pause(ctx, table))


def pause_table(
    ctx: Context,
    table: TableName,
    *,
    comment: str | None,
    resume_at_ms: int | None,
    expected: Callable[[PauseState], bool] | None,
    actor: Actor,
) -> dict[str, Any]:
    """Pause the table; Pinot's document with ours. Raises as ``consumption.pause_table``, StateConflict where the
    version can not.
    """
    require(ctx, pinot_version.PAUSE)
    now = ctx.clock()
    if resume_at_ms is not None and resume_at_ms <= now:
        raise InvalidInput("The planned end of the pause lies in the past.", remedy="Give a later time, or none.")
    _check_expected(ctx, table, expected)
    said = comment if comment is not None else actor.reason
    takes_comment = has(version(ctx), pinot_version.PAUSE_COMMENT)
    with _kept(ctx, table, OurPause(actor.name, said, now, resume_at_ms, now)):
        change(
            ctx, actor, "pauseConsumption", table.typed, ("POST", f"/tables/{quoted(table.raw)}/pauseConsumption"),
            params={"comment": said or None} if takes_comment else None, is_done=lambda: _is_paused(ctx, table),
            halfway=NO_SERVER_TOLD, comment=said,
        )  # fmt: skip
    return pause_status(ctx, table)


def resume_table(
    ctx: Context,
    table: TableName,
    *,
    start: StartFrom | None,
    comment: str | None,
    expected: Callable[[PauseState], bool] | None,
    actor: Actor,
) -> dict[str, Any]:
    """Let the table go on. Offsets of the caller's choice are refused with the reason: Pinot takes only its three
    words.
    """
    require(ctx, pinot_version.PAUSE)
    _check_expected(ctx, table, expected)
    said = comment if comment is not None else actor.reason
    params = {
        "consumeFrom": _word(ctx, start),
        **({"comment": said or None} if has(version(ctx), pinot_version.PAUSE_COMMENT) else {}),
    }
    change(
        ctx,
        actor,
        "resumeConsumption",
        table.typed,
        ("POST", f"/tables/{quoted(table.raw)}/resumeConsumption"),
        params=params,
        is_done=lambda: not _is_paused(ctx, table),
        comment=said,
    )
    ctx.store.delete(paths.pause(table.typed))
    return pause_status(ctx, table)


def pause_topics(ctx: Context, table: TableName, indices: Collection[int], *, actor: Actor) -> dict[str, Any]:
    """Pause some of its topics; the answer is Pinot's PauseState."""
    return _topics(ctx, table, "pauseTopicConsumption", indices, None, actor)


def resume_topics(
    ctx: Context, table: TableName, indices: Collection[int], *, start: StartFrom | None, actor: Actor
) -> dict[str, Any]:
    """Let them go on."""
    return _topics(ctx, table, "resumeTopicConsumption", indices, start, actor)


def refuse_partitions(ctx: Context) -> NoReturn:
    """StateConflict: no version of Pinot pauses single partitions."""
    require(ctx, pinot_version.PAUSE_PARTITIONS)
    text = f"Pinot {version(ctx) or ''}".strip() + " has no pause of single partitions that is known here."
    raise StateConflict(text, remedy="Pause the table, or its topic.")


def consuming_segments_info(ctx: Context, table: TableName) -> dict[str, Any]:
    """Pinot's document: what every replica of a consuming segment says. NotFound."""
    found = read_object(ctx, f"/tables/{quoted(table.raw)}/consumingSegmentsInfo")
    return {"_segmentToConsumingInfoMap": {}, "serversFailingToRespond": 0, "serversUnparsableRespond": 0} | found


def keep_consumption(ctx: Context) -> list[str]:
    """One look: planned ends that have come, and pauses that some consumers have not heard of."""
    sentences: list[str] = []
    for typed in ctx.store.children(paths.PAUSES):
        table = TableName(typed.removesuffix("_" + REALTIME), REALTIME)
        try:
            sentences += _look_after(ctx, table)
        except NotFound:
            ctx.store.delete(paths.pause(typed))  # the table was dropped
        except PinotAdminError as error:
            log.warning("The pause of %s could not be looked after: %s", typed, error)
            sentences.append(f"The pause of {typed} could not be looked after: {error}")
    return sentences


def read_pause(ctx: Context, table: TableName) -> OurPause | None:
    """What we know of the table's pause; None: it was not paused through us."""
    return _parsed(ctx.store.get(paths.pause(table.typed)))


def _look_after(ctx: Context, table: TableName) -> list[str]:
    ours = read_pause(ctx, table)
    if ours is None:
        return []
    status = pause_status(ctx, table)
    now = ctx.clock()
    if not status.get("pauseFlag"):
        ctx.store.delete(paths.pause(table.typed))
        return [f"{table} was resumed elsewhere; its planned end is void."] if ours.resume_at_ms is not None else []
    if ours.resume_at_ms is not None and now >= ours.resume_at_ms:
        resume_table(
            ctx,
            table,
            start=None,
            comment="The planned end of the pause has come.",
            expected=lambda s: s.paused,
            actor=SYSTEM,
        )
        return [f"{table} goes on: the planned end of its pause has come."]
    waiting = status.get("consumingSegments") or []
    if not waiting or now - ours.asked_ms < _ASK_AGAIN_MS:
        return []
    _keep(ctx, table, OurPause(ours.actor, ours.comment, ours.at_ms, ours.resume_at_ms, now))
    takes_comment = has(version(ctx), pinot_version.PAUSE_COMMENT)
    change(
        ctx,
        SYSTEM,
        "pauseConsumption",
        table.typed,
        ("POST", f"/tables/{quoted(table.raw)}/pauseConsumption"),
        params={"comment": ours.comment or None} if takes_comment else None,
        is_done=lambda: True,
        halfway=NO_SERVER_TOLD,
        again=True,
    )
    return [f"{table} is paused and {len(waiting)} segments still consume; Pinot was asked again."]


def _topics(
    ctx: Context, table: TableName, action: str, indices: Collection[int], start: StartFrom | None, actor: Actor
) -> dict[str, Any]:
    require(ctx, pinot_version.PAUSE_TOPICS)
    wanted, is_paused = set(indices), action.startswith("pause")

    def is_done() -> bool:
        off = set(pause_status(ctx, table).get("indexOfInactiveTopics") or _inactive(ctx, table))
        return wanted <= off if is_paused else not wanted & off

    params = {
        "topicIndices": ",".join(map(str, sorted(wanted))),
        **({} if is_paused else {"consumeFrom": _word(ctx, start)}),
    }
    answer = change(
        ctx,
        actor,
        action,
        table.typed,
        ("POST", f"/tables/{quoted(table.raw)}/{action}"),
        params=params,
        is_done=is_done,
        halfway=NO_SERVER_TOLD,
        topics=sorted(wanted),
    )
    return answer if isinstance(answer, dict) else pause_status(ctx, table)


def _inactive(ctx: Context, table: TableName) -> tuple[int, ...]:
    """Versions that have topics do not all tell them in the status; the ideal state does."""
    node = ctx.store.get(paths.ideal_state(table.typed))
    return pause_of(node.record).inactive_topics if node and node.record else ()


def _word(ctx: Context, start: StartFrom | None) -> str | None:
    if start is not None and start.offsets:
        require(ctx, pinot_version.RESUME_OFFSETS)
        raise StateConflict("Pinot takes no offsets at a resume.", remedy="Use lastConsumed, smallest or largest.")
    word = start.word if start is not None else "lastConsumed"
    is_plain = word == "lastConsumed" and not has(version(ctx), pinot_version.RESUME_LAST)
    return None if is_plain else word


def _is_paused(ctx: Context, table: TableName) -> bool:
    return bool(pause_status(ctx, table).get("pauseFlag"))


def _check_expected(ctx: Context, table: TableName, expected: Callable[[PauseState], bool] | None) -> None:
    if expected is None:
        return
    status = pause_status(ctx, table)
    code = str(status.get("reasonCode") or "ADMINISTRATIVE")
    state = PauseState(paused=bool(status.get("pauseFlag")), comment=status.get("comment"), reason_code=code)
    if not expected(state):
        raise StateConflict(f"Table {table} was paused or resumed meanwhile.", remedy="Look at its pause status.")


def _with_ours(found: dict[str, Any], ours: OurPause | None) -> dict[str, Any]:
    """Pinot's document with what is kept here. Versions that take no comment tell only the flag and the segments: the
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
    """The pause is on record before Pinot is asked for it; what was on record comes back when Pinot did nothing."""
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
    update_record(ctx.store, paths.pause(table.typed), lambda _: pause.to_record(table))


def _parsed(node: Versioned | None) -> OurPause | None:
    if node is None or node.record is None:
        return None
    try:
        return OurPause(**json.loads(node.record.simple[_FIELD]))
    except (KeyError, TypeError, ValueError):
        log.warning("The record of a pause (%s) can not be read.", node.record.id)
        return None
