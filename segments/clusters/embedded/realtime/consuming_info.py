"""What consumes where, asked of the servers of the embedded cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from segments.clusters.embedded.instances.server_calls import ask_servers
from segments.clusters.embedded.realtime.completion.committing_list import committing_segments
from segments.domain.realtime.pause import consuming_segments
from segments.domain.segments.ideal_state import CONSUMING, ERROR
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.realtime.realtime_state import read_ideal
from segments.store import paths

#: Field of a server's answer -> field of ours.
_OFFSET_FIELDS: Final = {
    "currentOffsets": "currentOffsetsMap", "latestUpstreamOffsets": "latestUpstreamOffsetMap",
    "recordsLag": "recordsLagMap", "availabilityLagMs": "availabilityLagMsMap",
}  # fmt: skip


def consuming_segments_info(ctx: Context, table: TableName) -> dict[str, Any]:
    """Asks every server that is to consume one of the table's segments; NotFound."""
    ideal = read_ideal(ctx, table).record
    assert ideal is not None
    segments = consuming_segments(ideal)
    servers = sorted({i for s in segments for i, state in ideal.maps[s].items() if state == CONSUMING})
    found: dict[str, list[dict[str, Any]]] = {s: [] for s in segments}
    answers = ask_servers(ctx, servers, f"/tables/{quote(table.typed, safe='')}/consumingSegmentsInfo", _is_list)
    for server, rows in sorted(answers.by_server.items()):
        for row in rows:
            if row.get("segmentName") in found:
                found[row["segmentName"]].append(_replica(server, row))
    return {
        "_segmentToConsumingInfoMap": found,
        "serversFailingToRespond": len(answers.silent),
        "serversUnparsableRespond": len(answers.unreadable),
    }


def pauseless_debug_info(ctx: Context, table: TableName) -> dict[str, Any]:
    """Segments in ERROR by server, from the external view, and those that are being committed; NotFound."""
    read_ideal(ctx, table)
    view, errors = ctx.store.get(paths.external_view(table.typed)), defaultdict(list)
    for segment, row in sorted(view.record.maps.items()) if view and view.record else ():
        for instance in (i for i, state in row.items() if state == ERROR):
            errors[instance].append(segment)
    return {
        "instanceToErrorSegmentsMap": dict(sorted(errors.items())),
        "committingSegments": committing_segments(ctx.store, table),
    }


def _is_list(answer: Any) -> bool:
    return isinstance(answer, list) and all(isinstance(row, dict) for row in answer)


def _replica(server: str, row: Mapping[str, Any]) -> dict[str, Any]:
    info = row.get("partitionOffsetInfo") or {}
    return {
        "serverName": server,
        "consumerState": row.get("consumerState", "NOT_CONSUMING"),
        "lastConsumedTimestamp": row.get("lastConsumedTimestamp", 0),
        "partitionToOffsetMap": row.get("partitionToOffsetMap") or {},
        "partitionOffsetInfo": {ours: info.get(theirs) or {} for theirs, ours in _OFFSET_FIELDS.items()},
    }
