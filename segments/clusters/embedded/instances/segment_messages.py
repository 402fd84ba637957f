"""Reset and reload of segments by messages to the servers that hold them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from segments.domain.segments.ideal_state import CONSUMING, ERROR, OFFLINE
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import table_not_found
from segments.services.segments.segment_reset import (
    Rows,
    bad_replicas,
    not_assigned,
    not_held,
    send_reload,
    send_resets,
)
from segments.store import paths
from segments.store.records.instances import live_instances


def reset_segment(ctx: Context, table: TableName, segment: str, *, target: str | None) -> int:
    """Every live replica that is not OFFLINE, or that on ``target``, goes to OFFLINE and back. NotFound."""
    ideal, view = _rows(ctx, table)
    if segment not in ideal:
        raise not_assigned(segment, table)
    if target is not None and target not in ideal[segment]:
        raise not_held(segment, table, target)
    wanted = {
        i: [segment] for i in ideal[segment] if target in (None, i) and view.get(segment, {}).get(i, ERROR) != OFFLINE
    }
    return send_resets(ctx, table, wanted, view)


def reset_table(ctx: Context, table: TableName, *, errors_only: bool, target: str | None) -> int:
    """As ``reset_segment`` for every segment. ``errors_only``: healthy replicas go on serving."""
    ideal, view = _rows(ctx, table)
    wanted = bad_replicas(ideal, view) if errors_only else _all_replicas(ideal, view)
    return send_resets(ctx, table, {i: s for i, s in wanted.items() if target in (None, i)}, view)


def reload_segments(
    ctx: Context, table: TableName, segments: Collection[str] | None, *, force_download: bool
) -> dict[str, Any]:
    """RELOAD_SEGMENT to every live server that holds the segments, or any of the table."""
    ideal, _ = _rows(ctx, table)
    missing = sorted(set(segments or ()) - set(ideal))
    if missing:
        raise not_assigned(missing[0], table)
    job, live, sent = ctx.new_id(), live_instances(ctx.store), 0
    for instance, names in sorted(_holders(ideal, segments).items()):
        named = names if segments else ()
        sent += instance in live and send_reload(ctx, table, live[instance], named, job, force_download)
    return {"numMessagesSent": str(sent), "reloadJobId": job, "reloadJobMetaZKStorageStatus": "SUCCESS"}


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
    """{instance: segments it holds}; what still consumes has no file to read again."""
    found: dict[str, list[str]] = defaultdict(list)
    for segment in sorted(ideal if segments is None else segments):
        for instance, state in ideal[segment].items():
            if state not in (OFFLINE, CONSUMING):
                found[instance].append(segment)
    return dict(found)
