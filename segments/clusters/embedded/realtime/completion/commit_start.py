"""The writes that start a pauseless commit, and what any commit's next segment needs to know of its table."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from segments.clusters.embedded.realtime.completion.committing_list import listed_segments, listing_writes
from segments.clusters.embedded.realtime.completion.completion_state import Observed, machine_writes, round_write
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime import flush_threshold
from segments.domain.realtime.commit.start import CommitStart, RealtimeTable, start_commit
from segments.domain.realtime.completion import Machine
from segments.domain.realtime.completion.machine import CAP_MS
from segments.domain.realtime.flush_threshold import Committed
from segments.domain.realtime.llc_name import LLCName, is_llc_name, parse_llc_name
from segments.domain.realtime.reingestion.rules import is_lost
from segments.domain.segments import segment_metadata
from segments.domain.segments.ideal_state import CONSUMING
from segments.domain.segments.segment_metadata import COMMITTING, DONE
from segments.domain.tables.keyed_tables import is_keyed
from segments.errors import StateConflict
from segments.services.core.context import Context
from segments.services.realtime.realtime_servers import tenant_servers
from segments.store import paths
from segments.store.base import Create, Replace, Versioned, Write
from segments.store.records.data_loss import data_loss_write, noticed

#: Segments of one partition that may be committed at a time before the next one waits; it is read on meanwhile.
MOST_COMMITTING: Final = 4
#: Segments before the one that ends of which the last committed one teaches the next row limit.
_SEGMENTS_BACK: Final = MOST_COMMITTING + 1


def start_writes(
    ctx: Context, seen: Observed, start: CommitStart, after: Machine | None, *, is_repeated: bool
) -> list[Write]:
    """One transaction: the segment COMMITTING and on the list, its row ONLINE, the next segment, the machine.

    A start that is on record already only moves the machine. ``is_repeated``: an earlier attempt met a conflict. Raises
    StateConflict when the segment is not consuming any more, or its successor exists already.
    """
    segment = seen.segment
    assert segment is not None  # ``seen.metadata`` was asked before
    ideal, record = read_ideal(ctx, seen)
    if seen.metadata.status == COMMITTING and CONSUMING not in record.maps.get(seen.name.text, {}).values():
        return machine_writes(seen, after)
    last = _last_sized(ctx, seen, record) if flush_threshold.is_tuned(seen.stream.flush) else None
    table = table_of_successor(ctx, seen, is_repeated=is_repeated, last_sized=last)
    plan = start_commit(start, table, seen.metadata, record, ctx.clock())
    return [
        Replace(paths.segment(seen.table.typed, seen.name.text), plan.record, segment.version),
        *successor_writes(ctx, seen, start, plan.successor),
        Replace(paths.ideal_state(seen.table.typed), plan.ideal, ideal.version),
        *listing_writes(ctx.store, seen.table, seen.name.text),
        *round_write(seen, after),
    ]


def is_crowded(ctx: Context, seen: Observed) -> bool:
    """Are so many segments of the partition being committed that the next one has to wait?

    One that has been at it for longer than any commit may take, or whose replicas are all in ERROR, is left to the
    repair: no server has its rows in memory, and it keeps nobody waiting.
    """
    since_ms = ctx.clock() - CAP_MS
    own = [n for n in listed_segments(ctx.store, seen.table) if _is_before(seen.name, n)]
    nodes = ctx.store.get_many([paths.segment(seen.table.typed, name) for name in own])
    young = [
        name
        for name, node in zip(own, nodes, strict=True)
        if node is not None and node.modified_ms > since_ms and _status(node) == COMMITTING
    ]
    return len(young) >= MOST_COMMITTING and len(_not_lost(ctx, seen, young)) >= MOST_COMMITTING


def _not_lost(ctx: Context, seen: Observed, names: Sequence[str]) -> list[str]:
    ideal, view = ctx.store.get_many([paths.ideal_state(seen.table.typed), paths.external_view(seen.table.typed)])
    rows, states = (node.record.maps if node and node.record else {} for node in (ideal, view))
    return [name for name in names if not is_lost(rows.get(name, {}), states.get(name, {}))]


def read_ideal(ctx: Context, seen: Observed) -> tuple[Versioned, ZNRecord]:
    """The table's ideal state. StateConflict when there is none."""
    node = ctx.store.get(paths.ideal_state(seen.table.typed))
    if node is None or node.record is None:
        raise StateConflict(f"Table {seen.table} has no ideal state.", remedy="It was dropped meanwhile.")
    return node, node.record


def table_of_successor(
    ctx: Context, seen: Observed, *, is_repeated: bool, last_sized: Committed | None = None
) -> RealtimeTable:
    """What the next segment needs to know; ``is_repeated``: its name may be taken."""
    return RealtimeTable(
        typed=seen.table.typed,
        replicas=seen.config.replication,
        topics=seen.topics,
        flush=seen.stream.flush,
        chance=random.random(),
        stays=is_keyed(seen.config),
        instances=tenant_servers(ctx, seen.config),
        taken=_taken(ctx, seen) if is_repeated else frozenset(),
        last_sized=last_sized,
    )


def successor_writes(ctx: Context, seen: Observed, start: CommitStart, successor: ZNRecord | None) -> list[Write]:
    """The record of the next segment, where there is one, and what it skips (rule `lost-rows-are-reported`)."""
    if successor is None:
        return []
    created = Create(paths.segment(seen.table.typed, successor.id), successor)
    if start.skips is None:
        return [created]
    loss = noticed(start.skips, successor.id, ctx.clock())
    return [created, *data_loss_write(ctx.store, seen.table.typed, [loss])]


def _taken(ctx: Context, seen: Observed) -> frozenset[str]:
    """Names that the successor cannot have, because a record of a former life is still there."""
    following = f"{seen.name.raw}__{seen.name.partition}__{seen.name.sequence + 1}__"
    return frozenset(s for s in ctx.store.children(paths.segments(seen.table.typed)) if s.startswith(following))


def _last_sized(ctx: Context, seen: Observed, ideal: ZNRecord) -> Committed | None:
    """The partition's last committed segment before this one; None when none of the few before it is."""
    before = sorted((parse_llc_name(s) for s in ideal.maps if _is_before(seen.name, s)), reverse=True)
    names = [name.text for name in before[:_SEGMENTS_BACK]]
    for node in ctx.store.get_many([paths.segment(seen.table.typed, name) for name in names]):
        if node is not None and node.record is not None and _status(node) == DONE:
            found = flush_threshold.committed_of(segment_metadata.from_record(node.record))
            if found.rows > 0 and found.size_bytes > 0:
                return found
    return None


def _is_before(name: LLCName, other: str) -> bool:
    if not is_llc_name(other):
        return False
    found = parse_llc_name(other)
    return found.partition == name.partition and found.sequence < name.sequence


def _status(node: Versioned) -> str:
    return segment_metadata.from_record(node.record).status if node.record is not None else ""
