"""Start of replacements on a real Pinot: decided as on our own cluster, on record before it is sent, looked for when
the answer is lost.

What our rules refuse is never sent (B2, B3). A lost answer, or a 500 that hides its cause, is looked for in the
lineage, and only what is not there is sent again (``pinot_calls.settled``).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from segments.clusters.pinot.calls import Doubt, controller, odd_answer, quoted, settled, version
from segments.clusters.pinot.replacement.lineage import entry_of_start, lineage_now
from segments.clusters.pinot.replacement.start_records import (
    StartIntent,
    find_intent,
    forget_intent,
    keep_intent,
    note_started,
)
from segments.domain.pinot import cleanup as pinot_cleanup
from segments.domain.pinot import version as pinot_version
from segments.domain.replacement import decisions as replacement
from segments.domain.replacement.decisions import Replacement
from segments.domain.replacement.lineage import ACTOR, FORCED_CLEANUP
from segments.errors import Conflict, NotFound, OutcomeUnknown, PinotAdminError
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.replacement import start_admission
from segments.services.replacement.lineage_record import note_entry, observe

_TOLD: Final = 100
#: Seconds that Pinot's answer is waited for before the lineage is looked at. 0.11.0 writes the entry first, deletes
#: what the start cleans up, and answers only when the last record of that is gone, for up to 20 minutes. A segment that
#: a server was just loading it keeps until the table changes again, as with the upload that follows the start.
_ANSWER_S: Final = 5.0
#: Seconds until a start without an answer that the lineage does not show counts as lost, and between two looks until
#: then.
_LOST_S: Final = 60.0
_LOOK_AGAIN_S: Final = 1.0


def start_replace(
    ctx: Context,
    table: TableName,
    segments_from: Sequence[str],
    segments_to: Sequence[str],
    *,
    force_cleanup: bool,
    actor: Actor,
    intent_id: str | None,
    custom_map: Mapping[str, str] | None,
) -> str:
    """Open a replacement; returns Pinot's entry id. A caller that gives ``intent_id`` may repeat the call: it is done
    once.

    Raises as ``replacement.start_replace``; OutcomeUnknown when it was sent and can not be found: repeating it with the
    same ``intent_id`` goes on looking.
    """
    replacement.check_request(segments_from, segments_to)
    declared = start_admission.read_declared(custom_map)
    lists = (tuple(segments_from), tuple(segments_to))
    intent = find_intent(ctx, table, intent_id) if intent_id else None
    if intent is not None and intent.entry:
        return intent.entry
    deleted: tuple[str, ...] = ()
    if intent is None:
        deleted = _check_start(ctx, table, lists, force_cleanup, declared)
        known = sorted(lineage_now(ctx, table).entries)
        notes = {ACTOR: actor.name, **({FORCED_CLEANUP: "true"} if force_cleanup else {}), **declared.notes}
        intent = keep_intent(
            ctx, table, intent_id or ctx.new_id(), lists, force=force_cleanup, known=known, actor=actor, notes=notes
        )
    entry_id = resolve_start(ctx, table, intent) or _send_start(ctx, table, intent, custom_map)
    adopt(ctx, table, intent, entry_id)
    sides = {"segmentsFrom": lists[0], "segmentsTo": lists[1], "deleted": deleted}
    detail: dict[str, Any] = {
        **{k: list(v[:_TOLD]) for k, v in sides.items()},
        "countFrom": len(lists[0]),
        "countTo": len(lists[1]),
    }
    custom: dict[str, Any] = {"customMap": dict(custom_map)} if custom_map else {}
    audit.record(
        actor, "startReplaceSegments", cluster=ctx.cluster, target=table.typed, entry=entry_id, **detail, **custom
    )
    return entry_id


def resolve_start(ctx: Context, table: TableName, intent: StartIntent) -> str | None:
    """Pinot's id for a start on record, None when it has not arrived."""
    if intent.entry:
        return intent.entry
    found = entry_of_start(lineage_now(ctx, table), intent.segments_from, intent.segments_to, intent.known)
    return found.id if found else None


def adopt(ctx: Context, table: TableName, intent: StartIntent, entry_id: str) -> None:
    """Write down that the start is there under this id, and what we know of it. Repeating it changes nothing."""
    note_started(ctx, table, intent, entry_id)
    with suppress(
        NotFound, Conflict
    ):  # gone again, or read from a part of Pinot's ZooKeeper that is behind: the notes can be missed
        note_entry(ctx, table, entry_id, dict(intent.notes))


def _check_start(
    ctx: Context,
    table: TableName,
    lists: tuple[Sequence[str], Sequence[str]],
    force: bool,
    declared: start_admission.Declared,
) -> tuple[str, ...]:
    """Refuse what our rules refuse; the segments that Pinot will delete at this start."""
    wanted = Replacement(tuple(lists[0]), tuple(lists[1]), force)
    seen = observe(ctx, table)
    replacement.start(seen.lineage, wanted, entry_id="new", ideal=seen.ideal.maps, now_ms=ctx.clock())
    gone = pinot_cleanup.check_start(seen.lineage, wanted, is_refresh=seen.config.is_refresh, ideal=seen.ideal.maps)
    if wanted.segments_to:
        start_admission.admit(ctx, seen.config, seen.lineage, declared, gone)
    return gone


def _send_start(ctx: Context, table: TableName, intent: StartIntent, custom_map: Mapping[str, str] | None) -> str:
    body: dict[str, Any] = {"segmentsFrom": list(intent.segments_from), "segmentsTo": list(intent.segments_to)}
    foreign = {k: v for k, v in (custom_map or {}).items() if not k.startswith("pinotadmin.")}
    if foreign and pinot_version.has(version(ctx), pinot_version.CUSTOM_MAP):
        body["customMap"] = foreign
    sent: list[float] = []

    def send() -> str:
        # Repeated without forceCleanup: an earlier attempt that arrives late must not be cleaned up by this one, but
        # refuse it.
        params = {"type": table.type, "forceCleanup": intent.force_cleanup and not sent}
        sent.append(time.monotonic())
        path = f"/segments/{quoted(table.raw)}/startReplaceSegments"
        answer = controller(ctx).send("POST", path, params, body, timeout=_ANSWER_S)
        entry_id = answer.get("segmentLineageEntryId") if isinstance(answer, dict) else None
        if not isinstance(entry_id, str) or not entry_id:
            raise OutcomeUnknown(odd_answer(path, "no id of an entry").message, remedy="Look at the table's lineage.")
        return entry_id

    def look(doubt: Doubt) -> str | None:
        is_slow = time.monotonic() - sent[-1] >= _ANSWER_S
        found = resolve_start(ctx, table, intent)
        while found is None and is_slow and time.monotonic() - sent[-1] < _LOST_S:
            time.sleep(_LOOK_AGAIN_S)
            found = resolve_start(ctx, table, intent)
        if found is None:
            _check_start(
                ctx, table, (intent.segments_from, intent.segments_to), intent.force_cleanup, start_admission.Declared()
            )
        return found

    try:
        return settled(send, look)
    except PinotAdminError as error:
        if error.permanent:
            forget_intent(ctx, table, intent.id)
        raise
