"""Reset and reload of segments: replicas start again, or read their file and config again."""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from segments.domain.segments.ideal_state import ERROR, OFFLINE
from segments.errors import NotFound, PinotAdminError
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.store.records import messages
from segments.store.records.instances import LiveInstance, live_instances

log = logging.getLogger(__name__)

Rows = Mapping[str, Mapping[str, str]]
#: Segments named in an audit record.
_NAMED: Final = 100


def reset_segment(ctx: Context, table: TableName, segment: str, *, target: str | None = None, actor: Actor) -> int:
    """Reset the segment on every live replica that is not OFFLINE, or on ``target`` only; returns how many were asked
    to.

    NotFound: no such table, no such segment, or ``target`` does not hold it.
    """
    with audit.recorded(ctx, actor, "resetSegment", table.typed, segment=segment, instance=target or "") as detail:
        count = ctx.engine.instances.reset_segment(ctx, table, segment, target=target)
        detail["replicas"] = count
    return count


def reset_table(ctx: Context, table: TableName, *, errors_only: bool, target: str | None = None, actor: Actor) -> int:
    """As ``reset_segment`` for every segment. ``errors_only``: just the replicas in ERROR, the healthy ones go on
    serving.
    """
    with audit.recorded(ctx, actor, "resetSegments", table.typed, errorsOnly=errors_only) as detail:
        count = ctx.engine.instances.reset_table(ctx, table, errors_only=errors_only, target=target)
        detail["replicas"] = count
    return count


def reload_segments(
    ctx: Context,
    table: TableName,
    *,
    segments: Collection[str] | None = None,
    force_download: bool = False,
    actor: Actor,
) -> dict[str, Any]:
    """Have every live server that holds the segments, or any of the table, load them again; the messages sent, and the
    job's id.

    NotFound: no such table or segment.
    """
    named = sorted(segments or ())[:_NAMED]
    with audit.recorded(ctx, actor, "reloadSegments", table.typed, segments=named) as detail:
        answer = ctx.engine.instances.reload_segments(ctx, table, segments, force_download=force_download)
        detail.update(messages=answer["numMessagesSent"], job=answer["reloadJobId"])
    return answer


def not_assigned(segment: str, table: TableName) -> NotFound:
    """To raise for a segment that is not in the table's ideal state."""
    return NotFound(
        f"Segment '{segment}' is not assigned in table '{table}'.", remedy=f"List them with GET /segments/{table.raw}."
    )


def not_held(segment: str, table: TableName, instance: str) -> NotFound:
    """To raise for an instance that holds no replica of a segment."""
    return NotFound(
        f"Instance '{instance}' does not hold segment '{segment}' of table '{table}'.",
        remedy="Name one of its servers, or none for all of them.",
    )


def bad_replicas(ideal: Rows, view: Rows) -> dict[str, list[str]]:
    """{instance: segments} in ERROR although they should serve."""
    found: dict[str, list[str]] = defaultdict(list)
    for segment, row in sorted(ideal.items()):
        for instance, state in row.items():
            if state != OFFLINE and view.get(segment, {}).get(instance) == ERROR:
                found[instance].append(segment)
    return dict(found)


def send_resets(ctx: Context, table: TableName, wanted: Mapping[str, Collection[str]], view: Rows) -> int:
    """Helix' state transition to OFFLINE for each replica on a live server; a message that cannot be sent is
    logged. How many were sent.
    """
    live, count = live_instances(ctx.store), 0
    for instance, names in sorted(wanted.items()):
        for segment in names if instance in live else ():
            count += _send_reset(ctx, table, live[instance], segment, view.get(segment, {}).get(instance, ERROR))
    return count


def send_reload(ctx: Context, table: TableName, live: LiveInstance, names: Iterable[str], job: str, force: bool) -> int:
    """RELOAD_SEGMENT to one server, for all segments of the table when none is named; 1, or 0 when it could not be
    sent.
    """
    fields = {"forceDownload": str(force).lower(), "reloadJobId": job}
    lists = {"segmentNames": list(names)} if names else {}
    return _send(ctx, live, messages.RELOAD_SEGMENT, table, "", fields, lists=lists)


def reload_status_text(found: Mapping[str, Mapping[str, Any]]) -> str:
    """The text in Pinot's answer: a JSON object per typed table."""
    return json.dumps(dict(found))


def _send_reset(ctx: Context, table: TableName, live: LiveInstance, segment: str, state: str) -> int:
    fields = {"FROM_STATE": state, "TO_STATE": OFFLINE, "STATE_MODEL_DEF": "SegmentOnlineOfflineStateModel"}
    return _send(ctx, live, "", table, segment, fields, message_type=messages.STATE_TRANSITION)


def _send(
    ctx: Context, live: LiveInstance, subtype: str, table: TableName, segment: str, fields: dict[str, str], **more: Any
) -> int:
    try:
        messages.send(
            ctx.store,
            live.instance,
            subtype,
            resource=table.typed,
            partition=segment,
            session=live.session,
            new_id=ctx.new_id,
            now_ms=ctx.clock(),
            cluster=ctx.cluster,
            fields=fields,
            **more,
        )
    except PinotAdminError:
        log.exception("No message about %s of %s to %s.", segment or "segments", table, live.instance)
        return 0
    return 1
