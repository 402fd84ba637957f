"""Which segments are served right now, and waiting until they are."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from segments.domain.ideal_state import ERROR, ONLINE, SEGMENT_CRC, serving
from segments.errors import PreconditionFailed
from segments.names import TableName
from segments.services.context import Context
from segments.store import paths
from segments.store.base import Versioned

Rows = Mapping[str, Mapping[str, str]]

_FIRST_LOOK_S = 0.002
_SLOWEST_LOOK_S = 0.05


def serving_rows(ctx: Context, table: TableName, ideal: Mapping[str, Mapping[str, str]]) -> dict[str, bool]:
    """{segment of the ideal state: does a live instance serve it?}"""
    view, live = _observed(ctx, table)
    return {s: any(i in live for i in serving(view.get(s, {}))) for s in ideal}


def wait_until_online(ctx: Context, table: TableName, segments: Sequence[str]) -> None:
    """Wait until every live replica of these segments is ONLINE with the file on record, and at least one of each (B6).

    A replica that still serves an older file of that name (a refresh under way) is waited for too.

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
    """(segments with a live replica still missing or on an older file, segments that are in ERROR wherever they are)."""
    if not segments:
        return [], []
    node, view, live, crcs = _looked_at(ctx, table, segments)
    waiting, broken = [], []
    for segment in segments:
        states = view.get(segment, {})
        wanted = [i for i in node.get(segment, {}) if i in live]
        online = [i for i in wanted if states.get(i) == ONLINE and live[i].get(segment) in (None, crcs.get(segment))]
        if online and all(i in online or states.get(i) == ERROR for i in wanted):
            continue
        waiting.append(segment)
        if wanted and all(states.get(i) == ERROR for i in wanted):
            broken.append(segment)
    return waiting, broken


def _looked_at(ctx: Context, table: TableName, segments: Sequence[str]) -> tuple[Rows, Rows, dict[str, dict[str, str]], dict[str, str]]:
    """(ideal state, external view, {live instance: {segment: CRC it serves}}, {segment: CRC on record})."""
    instances = ctx.store.children(paths.LIVE_INSTANCES)
    fixed = [paths.ideal_state(table.typed), paths.external_view(table.typed), *(paths.live_instance(i) for i in instances)]
    ideal, view, *lives = ctx.store.get_many([*fixed, *(paths.segment(table.typed, s) for s in segments)])
    nodes, records = lives[: len(instances)], lives[len(instances) :]
    live = {i: n.record.simple.get("SESSION_ID", "") if n.record else "" for i, n in zip(instances, nodes, strict=True) if n}
    known = [i for i, session in live.items() if session]
    states = ctx.store.get_many([paths.current_state(i, live[i], table.typed) for i in known])
    served = {**{i: {} for i in live}, **{i: _crcs(n) for i, n in zip(known, states, strict=True)}}
    crcs = {s: n.record.simple.get("segment.crc", "") for s, n in zip(segments, records, strict=True) if n and n.record}
    return _rows(ideal), _rows(view), served, crcs


def _crcs(node: Versioned | None) -> dict[str, str]:
    rows = node.record.maps if node and node.record else {}
    return {s: row[SEGMENT_CRC] for s, row in rows.items() if SEGMENT_CRC in row}


def _rows(node: Versioned | None) -> Rows:
    return node.record.maps if node and node.record else {}


def _observed(ctx: Context, table: TableName) -> tuple[Rows, set[str]]:
    view = ctx.store.get(paths.external_view(table.typed))
    return _rows(view), set(ctx.store.children(paths.LIVE_INSTANCES))
