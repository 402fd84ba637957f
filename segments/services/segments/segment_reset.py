"""Reset and reload of segments: replicas are asked to begin anew, or to look at their file and config again
(realtime-ops.md 2, 12).
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from segments.clusters.pinot import operations as pinot_operations
from segments.domain.segments.ideal_state import CONSUMING, ERROR, OFFLINE
from segments.errors import NotFound, PinotAdminError
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.replacement.lineage_record import table_not_found
from segments.store import paths
from segments.store.records import messages
from segments.store.records.instances import LiveInstance, live_instances

log = logging.getLogger(__name__)

Rows = Mapping[str, Mapping[str, str]]


def reset_segment(ctx: Context, table: TableName, segment: str, *, target: str | None = None, actor: Actor) -> int:
    """Begin the segment anew on every live replica that is not OFFLINE, or on ``target`` only; returns how many were
    told.

    NotFound: no such table, no such segment, or ``target`` does not hold it.
    """
    if ctx.pinot is not None:
        return pinot_operations.reset_segment(ctx, table, segment, target=target, actor=actor)
    ideal, view = _rows(ctx, table)
    if segment not in ideal:
        raise NotFound(
            f"Segment '{segment}' is not assigned in table '{table}'.", remedy="List them with GET /segments/{table}."
        )
    if target is not None and target not in ideal[segment]:
        raise NotFound(f"Instance '{target}' does not hold segment '{segment}' of table '{table}'.")
    wanted = {
        i: [segment] for i in ideal[segment] if target in (None, i) and view.get(segment, {}).get(i, ERROR) != OFFLINE
    }
    count = send_resets(ctx, table, wanted, view)
    audit.record(
        actor,
        "resetSegment",
        cluster=ctx.cluster,
        target=table.typed,
        segment=segment,
        instance=target or "",
        replicas=count,
    )
    return count


def reset_table(ctx: Context, table: TableName, *, errors_only: bool, target: str | None = None, actor: Actor) -> int:
    """As ``reset_segment`` for every segment. ``errors_only``: just the replicas in ERROR, the healthy ones go on
    serving (B19).
    """
    if ctx.pinot is not None:
        return pinot_operations.reset_table(ctx, table, errors_only=errors_only, target=target, actor=actor)
    ideal, view = _rows(ctx, table)
    wanted = bad_replicas(ideal, view) if errors_only else _all_replicas(ideal, view)
    count = send_resets(ctx, table, {i: s for i, s in wanted.items() if target in (None, i)}, view)
    audit.record(
        actor, "resetSegments", cluster=ctx.cluster, target=table.typed, errorsOnly=errors_only, replicas=count
    )
    return count


def bad_replicas(ideal: Rows, view: Rows) -> dict[str, list[str]]:
    """{instance: segments} in ERROR although they should serve."""
    found: dict[str, list[str]] = defaultdict(list)
    for segment, row in sorted(ideal.items()):
        for instance, state in row.items():
            if state != OFFLINE and view.get(segment, {}).get(instance) == ERROR:
                found[instance].append(segment)
    return dict(found)


def send_resets(ctx: Context, table: TableName, wanted: Mapping[str, Collection[str]], view: Rows) -> int:
    """Helix' state transition to OFFLINE for each replica on a live server; one that can not be told is logged. How
    many were told.
    """
    live, count = live_instances(ctx.store), 0
    for instance, names in sorted(wanted.items()):
        for segment in names if instance in live else ():
            count += _send_reset(ctx, table, live[instance], segment, view.get(segment, {}).get(instance, ERROR))
    return count


def reload_segments(
    ctx: Context,
    table: TableName,
    *,
    segments: Collection[str] | None = None,
    force_download: bool = False,
    actor: Actor,
) -> dict[str, Any]:
    """RELOAD_SEGMENT to every live server that holds the segments, or any of the table; the messages sent, and the
    job's id.

    NotFound: no such table or segment.
    """
    if ctx.pinot is not None:
        return pinot_operations.reload_segments(
            ctx, table, segments=segments, force_download=force_download, actor=actor
        )
    ideal, _ = _rows(ctx, table)
    missing = sorted(set(segments or ()) - set(ideal))
    if missing:
        raise NotFound(
            f"Segment '{missing[0]}' is not assigned in table '{table}'.",
            remedy="List them with GET /segments/{table}.",
        )
    job, live, sent = ctx.new_id(), live_instances(ctx.store), 0
    for instance, names in sorted(_holders(ideal, segments).items()):
        sent += instance in live and _send_reload(
            ctx, table, live[instance], names if segments else (), job, force_download
        )
    audit.record(
        actor,
        "reloadSegments",
        cluster=ctx.cluster,
        target=table.typed,
        segments=sorted(segments or ())[:100],
        messages=sent,
        job=job,
    )
    return {"numMessagesSent": str(sent), "reloadJobId": job, "reloadJobMetaZKStorageStatus": "SUCCESS"}


def reload_status_text(found: Mapping[str, Mapping[str, Any]]) -> str:
    """The text in Pinot's answer: a JSON object per typed table."""
    return json.dumps(dict(found))


def _rows(ctx: Context, table: TableName) -> tuple[Rows, Rows]:
    ideal, view = ctx.store.get_many([paths.ideal_state(table.typed), paths.external_view(table.typed)])
    if ideal is None or ideal.record is None:
        raise table_not_found(table)
    return ideal.record.maps, view.record.maps if view and view.record else {}


def _all_replicas(ideal: Rows, view: Rows) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for segment, row in sorted(ideal.items()):
        for instance in row:
            if view.get(segment, {}).get(instance, ERROR) != OFFLINE:
                found[instance].append(segment)
    return dict(found)


def _holders(ideal: Rows, segments: Collection[str] | None) -> dict[str, list[str]]:
    """{instance: segments it holds}; what still consumes has no file to look at again."""
    found: dict[str, list[str]] = defaultdict(list)
    for segment in sorted(ideal if segments is None else segments):
        for instance, state in ideal[segment].items():
            if state not in (OFFLINE, CONSUMING):
                found[instance].append(segment)
    return dict(found)


def _send_reset(ctx: Context, table: TableName, live: LiveInstance, segment: str, state: str) -> int:
    fields = {"FROM_STATE": state, "TO_STATE": OFFLINE, "STATE_MODEL_DEF": "SegmentOnlineOfflineStateModel"}
    return _send(ctx, live, "", table, segment, fields, message_type=messages.STATE_TRANSITION)


def _send_reload(
    ctx: Context, table: TableName, live: LiveInstance, names: Iterable[str], job: str, force: bool
) -> int:
    fields = {"forceDownload": str(force).lower(), "reloadJobId": job}
    lists = {"segmentNames": list(names)} if names else {}
    return _send(ctx, live, messages.RELOAD_SEGMENT, table, "", fields, lists=lists)


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
        log.exception("Instance %s could not be told about %s of %s.", live.instance, segment or "its segments", table)
        return 0
    return 1
