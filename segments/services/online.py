"""Which segments are served right now, and waiting until they are."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from segments.domain.ideal_state import ERROR, ONLINE, serving
from segments.errors import PreconditionFailed
from segments.names import TableName
from segments.services.context import Context
from segments.store import paths

_FIRST_LOOK_S = 0.002
_SLOWEST_LOOK_S = 0.05


def serving_rows(ctx: Context, table: TableName, ideal: Mapping[str, Mapping[str, str]]) -> dict[str, bool]:
    """{segment of the ideal state: does a live instance serve it?}"""
    view, live = _observed(ctx, table)
    return {s: any(i in live for i in serving(view.get(s, {}))) for s in ideal}


def wait_until_online(ctx: Context, table: TableName, segments: Sequence[str]) -> None:
    """Wait until every live replica of these segments is ONLINE, and at least one of each (B6).

    Raises PreconditionFailed when a replica is in ERROR and no other serves the segment, or at ``limits.replicas_online_s``.
    """
    deadline = time.monotonic() + ctx.limits.replicas_online_s
    pause = _FIRST_LOOK_S
    while True:
        waiting, broken = _not_ready(ctx, table, segments)
        if broken:
            raise PreconditionFailed(
                f"Segment '{broken[0]}' of table '{table}' could not be loaded by any server.",
                remedy="Look at the servers' errors, upload it again, or revert the replacement.",
                segments=broken,
            )
        if not waiting:
            return
        if time.monotonic() > deadline:
            raise PreconditionFailed(
                f"{len(waiting)} of {len(segments)} new segments of table '{table}' are not online after"
                f" {ctx.limits.replicas_online_s:.0f} s, e.g. '{waiting[0]}'.",
                remedy="Check the servers, then end again.",
                segments=waiting,
            )
        time.sleep(pause)
        pause = min(_SLOWEST_LOOK_S, pause * 1.5)


def _not_ready(ctx: Context, table: TableName, segments: Sequence[str]) -> tuple[list[str], list[str]]:
    """(segments with a live replica still missing, segments that are in ERROR wherever they are)."""
    if not segments:
        return [], []
    node = ctx.store.get(paths.ideal_state(table.typed))
    ideal = node.record.maps if node and node.record else {}
    view, live = _observed(ctx, table)
    waiting, broken = [], []
    for segment in segments:
        states = view.get(segment, {})
        wanted = [i for i in ideal.get(segment, {}) if i in live]
        online = [i for i in wanted if states.get(i) == ONLINE]
        if online and all(states.get(i) in (ONLINE, ERROR) for i in wanted):
            continue
        waiting.append(segment)
        if wanted and all(states.get(i) == ERROR for i in wanted):
            broken.append(segment)
    return waiting, broken


def _observed(ctx: Context, table: TableName) -> tuple[Mapping[str, Mapping[str, str]], set[str]]:
    view = ctx.store.get(paths.external_view(table.typed))
    return (view.record.maps if view and view.record else {}), set(ctx.store.children(paths.LIVE_INSTANCES))
