"""Makes rows of messages that were set aside, after the schema or the transforms were changed so that they fit.

The rows become one segment of the REALTIME table, uploaded as Pinot's clients upload segments to it. The other way
would be to produce the messages into the stream again: that needs a login that may write to somebody else's topic,
shows every other reader of the topic the message twice, depends on the kind of stream, and has no way to know after a
crash whether the message went out. A segment has: its name is made of the replay's id, so the same replay can make it
once only, and whoever carries on after a crash checks whether it is there. Streams are not touched at all, so Kafka and
Redis are the same here.

A message belongs to at most one replay (conditional write), and only messages of committed segments are taken: while a
segment is being consumed, a server that begins again reads its messages again and makes rows of those that fit by then.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from django.db import transaction

from segments.domain.formats.plural import counted
from segments.domain.formats.storable_text import without_nul
from segments.domain.realtime.commit.fields import STATUS
from segments.errors import InvalidInput, PinotAdminError, StateConflict
from segments.models import SetAsideMessage, SetAsideReplay
from segments.names import OFFLINE, TableName
from segments.segmentfile.packed.tar import write_tar
from segments.services.core import audit
from segments.services.core.context import SYSTEM, Actor, Context
from segments.services.segments import uploads
from segments.services.segments.upload_files import scratch
from segments.services.set_aside.decoding import Attempt, decode_again
from segments.services.set_aside.keeping import check_table, of_table, refresh_finding
from segments.services.set_aside.listing import Which, chosen, keys
from segments.store import paths

log = logging.getLogger(__name__)

#: Messages of one replay; the oldest first.
MOST: Final = 5_000
_AT_ONCE: Final = 500
_NAMED: Final = 200
#: A replay that is not through after this has lost its process, or nearly: somebody else finishes it, under the same
#: name.
_CARRY_ON_AFTER: Final = timedelta(minutes=2)


def preview_replay(ctx: Context, table: TableName, which: Which) -> dict[str, Any]:
    """What a replay would do now: how many decode, how many still fail and why, and what helps when none gives a row.
    Changes nothing. NotFound, InvalidInput, Unavailable.
    """
    check_table(ctx, table)
    total = chosen(ctx, table, _waiting(which)).count()
    attempt = decode_again(ctx, table, _oldest(ctx, table, which), name="preview", now_ms=ctx.clock())
    remedy = "" if attempt.rows.rows else attempt.remedy
    return {"chosen": total, **attempt.to_json(), "remedy": remedy, "notes": _notes(ctx, table, total)}


def replay_messages(ctx: Context, table: TableName, which: Which, *, actor: Actor) -> dict[str, Any]:
    """Replay what is meant and decodes now; what does not stays set aside. Queries see the rows as soon as servers have
    loaded the segment.

    Raises InvalidInput without a reason, StateConflict when nothing decodes or somebody else replays the same messages;
    Unavailable and OutcomeUnknown mean that a later pass finishes it.
    """
    if not actor.reason.strip():
        raise InvalidInput(
            "Messages are replayed for a reason only.",
            remedy="Say why with the header X-Reason or the parameter 'reason'.",
        )
    check_table(ctx, table)
    attempt = decode_again(ctx, table, _oldest(ctx, table, which), name="attempt", now_ms=ctx.clock())
    if not attempt.rows.rows:
        first = f" The first: {attempt.failing[0].reason}" if attempt.failing else ""
        raise StateConflict(
            f"None of these messages gives a row now.{first}",
            remedy=attempt.remedy,
        )
    replay = _take(ctx, table, attempt.fitting, actor)
    try:
        rows = _finish(ctx, table, replay)
    except Exception as error:
        if not _give_up(ctx, table, replay, error, actor):
            raise
        rows = replay.rows
    return {**attempt.to_json(), "replay": str(replay.pk), "segment": replay.segment, "rows": rows}


def carry_on(ctx: Context, table: TableName) -> list[str]:
    """Finish replays whose process ended in between; a sentence for each."""
    before = ctx.now() - _CARRY_ON_AFTER
    stuck = SetAsideReplay.objects.filter(
        cluster=ctx.cluster, table_name=table.typed, state=SetAsideReplay.State.RUNNING, started_at__lt=before
    )
    sentences = []
    for replay in stuck:
        try:
            rows = _finish(ctx, table, replay)
        except PinotAdminError as error:
            if not _give_up(ctx, table, replay, error, SYSTEM):
                sentences.append(f"The replay {replay.pk} into segment {replay.segment} is not through: {error}")
                continue
            rows = replay.rows
        sentences.append(
            f"The replay {replay.pk} of set-aside messages was finished: {counted(rows, 'row')} in segment "
            f"{replay.segment}."
        )
    return sentences


def _waiting(which: Which) -> Which:
    return Which(which.partition, which.reason, "waiting", which.ids)


def _oldest(ctx: Context, table: TableName, which: Which) -> list[SetAsideMessage]:
    return list(chosen(ctx, table, _waiting(which)).order_by("topic", "partition", "place")[:MOST])


def _notes(ctx: Context, table: TableName, total: int) -> list[str]:
    """What a person should know before."""
    notes = ["The rows become one segment of the table; to take them back, delete that segment."]
    if total > MOST:
        notes.append(f"One replay takes the oldest {MOST:,} of the {total:,}; repeat it for the rest.")
    if ctx.store.exists(paths.table_config(TableName(table.raw, OFFLINE).typed)) is not None:
        notes.append(
            f"Queries on '{table.raw}' take rows up to the time boundary from {table.raw}_OFFLINE: older rows of "
            "a replay are seen by "
            f"queries on '{table.typed}' only."
        )
    return notes


def _take(ctx: Context, table: TableName, messages: Sequence[SetAsideMessage], actor: Actor) -> SetAsideReplay:
    """Put the replay on record and the messages into it, all or none."""
    number = uuid.uuid4()
    with transaction.atomic():
        replay = SetAsideReplay.objects.create(
            id=number,
            cluster=ctx.cluster,
            table_name=table.typed,
            segment=f"{table.raw}_replayed_{number.hex}",
            actor=actor.name,
            reason=actor.reason,
            messages=len(messages),
        )
        taken = 0
        for at in range(0, len(messages), _AT_ONCE):
            chunk = [m.pk for m in messages[at : at + _AT_ONCE]]
            taken += of_table(ctx.cluster, table).filter(pk__in=chunk, replay=None).update(replay=replay)
        if taken != len(messages):
            raise StateConflict(
                "Some of these messages were replayed or deleted by somebody else in between.",
                remedy="List the messages again.",
            )
        audit.record(
            actor,
            "replaySetAside",
            cluster=ctx.cluster,
            target=table.typed,
            replay=str(number),
            segment=replay.segment,
            messages=len(messages),
            offsets=keys(messages[:_NAMED]),
        )
    return replay


def _finish(ctx: Context, table: TableName, replay: SetAsideReplay) -> int:
    """Have the segment there, unless it is; then the messages are done with. Returns its rows."""
    if not _is_there(ctx, table, replay):
        messages = list(replay.taken.order_by("topic", "partition", "place"))
        attempt = decode_again(
            ctx, table, messages, name=replay.segment, now_ms=int(replay.started_at.timestamp() * 1000)
        )
        if attempt.failing:  # the schema has changed again since they were taken
            SetAsideMessage.objects.filter(pk__in=[f.message.pk for f in attempt.failing]).update(replay=None)
        if not attempt.rows.rows:
            raise StateConflict("None of these messages gives a row any more.", remedy=attempt.remedy)
        with scratch() as folder:
            uploads.upload_tar(ctx, table, _tar(attempt, folder, replay), actor=Actor(replay.actor, replay.reason))
        replay.rows = attempt.rows.rows
    _done(ctx, table, replay)
    return replay.rows


def _tar(attempt: Attempt, folder: Path, replay: SetAsideReplay) -> Path:
    """The same messages give the same file: the time of its creation is the replay's."""
    attempt.rows.build(folder, creation_time_ms=int(replay.started_at.timestamp() * 1000))
    tar = folder / "segment.tar.gz"
    write_tar(folder / replay.segment, tar)
    return tar


def _is_there(ctx: Context, table: TableName, replay: SetAsideReplay) -> bool:
    """Does the table have the segment, with a record of a whole one?"""
    node = ctx.store.get(paths.segment(table.typed, replay.segment))
    if node is None or node.record is None or node.record.simple.get(STATUS) is None:
        return False
    replay.rows = int(node.record.simple.get("segment.total.docs") or 0)
    return True


def _done(ctx: Context, table: TableName, replay: SetAsideReplay) -> None:
    replay.state, replay.error = SetAsideReplay.State.DONE, ""
    replay.finished_at = ctx.now()
    replay.save()
    refresh_finding(ctx.cluster, table)


def _give_up(ctx: Context, table: TableName, replay: SetAsideReplay, error: Exception, actor: Actor) -> bool:
    """After a failure: True when the segment is there all the same. What was refused for good is over, and its messages
    wait again.

    Everything else stays as it is, for the pass that carries on.
    """
    log.warning("Replay %s of %s: %s", replay.pk, table, error)
    if not (isinstance(error, PinotAdminError) and error.permanent):
        return False
    if _is_there(ctx, table, replay):
        _done(ctx, table, replay)
        return True
    with transaction.atomic():
        replay.taken.update(replay=None)
        replay.state, replay.error = SetAsideReplay.State.FAILED, without_nul(str(error))[:2000]
        replay.finished_at = ctx.now()
        replay.save()
        audit.record(
            actor,
            "replaySetAside",
            cluster=ctx.cluster,
            target=table.typed,
            outcome="failed",
            replay=str(replay.pk),
            error=str(error),
        )
    refresh_finding(ctx.cluster, table)
    return False
