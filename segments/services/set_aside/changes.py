"""Deleting messages that were set aside, and revealing one as it came: each for a reason, on record."""

from __future__ import annotations

import base64
from typing import Any, Final

from django.db import transaction

from segments.errors import InvalidInput
from segments.models import SetAsideCount, SetAsideReplay
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.set_aside.keeping import check_table, of_table, refresh_finding
from segments.services.set_aside.listing import Which, chosen, one_message

_AT_ONCE: Final = 500
#: Offsets that are named in the audit record.
_NAMED: Final = 200


def delete_messages(ctx: Context, table: TableName, which: Which, *, actor: Actor) -> int:
    """Delete for good what is meant; returns how many. Messages of a replay that is running stay.

    Who deletes all that waits has taken note of those that were not kept as well: their count begins again.
    Raises InvalidInput without a reason, NotFound.
    """
    if not actor.reason.strip():
        raise InvalidInput(
            "Messages are deleted for a reason only: nothing else keeps them.",
            remedy="Say why with the header X-Reason or the parameter 'reason'.",
        )
    check_table(ctx, table)
    with transaction.atomic():
        found = list(
            chosen(ctx, table, which)
            .exclude(replay__state=SetAsideReplay.State.RUNNING)
            .values_list("pk", "partition", "offset")
        )
        for at in range(0, len(found), _AT_ONCE):
            of_table(ctx.cluster, table).filter(pk__in=[pk for pk, _, _ in found[at : at + _AT_ONCE]]).delete()
        if which == Which():
            SetAsideCount.objects.filter(cluster=ctx.cluster, table_name=table.typed).update(
                dropped_by_servers=0, dropped_oldest=0
            )
        refresh_finding(ctx.cluster, table)
        if found:
            named = [f"{partition}:{offset}" for _, partition, offset in found[:_NAMED]]
            audit.record(
                actor, "deleteSetAside", cluster=ctx.cluster, target=table.typed, messages=len(found), offsets=named
            )
    return len(found)


def reveal_message(ctx: Context, table: TableName, number: int, *, actor: Actor) -> dict[str, Any]:
    """The payload as it came: ``{"payload": text}``, or ``{"payloadBase64": ...}`` for bytes that are not text.

    Who asked and why is on record before it is given. Raises InvalidInput without a reason, NotFound.
    """
    if not actor.reason.strip():
        raise InvalidInput(
            "Payloads are shown for a reason only.",
            remedy="Say why with the header X-Reason or the parameter 'reason'.",
        )
    message = one_message(ctx, table, number)
    where: dict[str, Any] = {"partition": message.partition, "offset": message.offset, "topic": message.topic}
    audit.record(actor, "revealSetAside", cluster=ctx.cluster, target=table.typed, **where)
    payload = bytes(message.payload)
    try:
        content = {"payload": payload.decode()}
    except UnicodeDecodeError:
        content = {"payloadBase64": base64.b64encode(payload).decode()}
    return {"id": message.pk, **where, "bytes": message.size, "isCut": message.is_cut, **content}
