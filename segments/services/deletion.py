"""Deletion is last and durable (DESIGN section 4, rule 8): out of the ideal state into a queue in ZooKeeper, then file and record.

The queue is one record per table, mapFields ``{segment: {requestedMs, retention?, claimedMs?}}``. Nothing is lost by a restart (B9),
and a name that is uploaded again leaves the queue before its new file is written (``release_name``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace

from segments.domain import ideal_state
from segments.domain import retention as rules
from segments.domain.znrecord import ZNRecord
from segments.errors import StateConflict
from segments.names import TableName
from segments.services import audit
from segments.services.context import Actor, Context
from segments.services.lineage_record import observe
from segments.services.table_record import read_table_config
from segments.store import paths
from segments.store.base import Check, Create, Replace, Versioned, Write
from segments.store.update import update_record, update_transaction

log = logging.getLogger(__name__)

#: A claim older than this belonged to a process that died.
CLAIM_MS = 30_000


def remove_segments(
    ctx: Context, table: TableName, segments: Sequence[str], *, retention: str | None = None, actor: Actor, guard: bool = True
) -> None:
    """Take segments out of the table; their files are kept for ``retention`` (e.g. ``3d``), the table's or the cluster's time.

    Unknown names are ignored. With ``guard``, raises StateConflict when any is locked by an unfinished or completed replacement;
    then nothing is touched (lineage.md 9).
    """
    rules.check_retention(retention)

    def attempt() -> Sequence[Write] | None:
        seen = observe(ctx, table)
        locked = sorted(set(segments) & seen.lineage.locked()) if guard else []
        if locked:
            raise _blocked(table, locked)
        leaving = [s for s in dict.fromkeys(segments) if s in seen.ideal.maps]
        if not leaving:
            return None
        without = ideal_state.without_rows(seen.ideal, leaving)
        writes: list[Write] = [Replace(paths.ideal_state(table.typed), without, seen.ideal_version)]
        if seen.lineage_node is not None:
            writes.append(Check(paths.lineage(table.typed), seen.lineage_node.version))
        return [*writes, queue_write(ctx, table, leaving, retention=retention)]

    try:
        update_transaction(ctx.store, attempt)
    except StateConflict as error:
        audit.record(actor, "deleteSegments", cluster=ctx.cluster, target=table.typed, outcome="refused", error=str(error))
        raise
    audit.record(actor, "deleteSegments", cluster=ctx.cluster, target=table.typed, segments=list(segments)[:100], count=len(segments))


def remove_hidden(ctx: Context, table: TableName, segments: Sequence[str]) -> list[str]:
    """Take those of ``segments`` out that no query sees under the lineage of this very moment; returns them.

    Decided afresh in every attempt: a segment that became visible again meanwhile stays (B1).
    """
    removed: list[str] = []

    def attempt() -> Sequence[Write] | None:
        seen = observe(ctx, table)
        hidden = seen.lineage.hidden()
        removed[:] = [s for s in dict.fromkeys(segments) if s in hidden and s in seen.ideal.maps]
        if not removed or seen.lineage_node is None:
            return None
        without = ideal_state.without_rows(seen.ideal, removed)
        return [
            Replace(paths.ideal_state(table.typed), without, seen.ideal_version),
            Check(paths.lineage(table.typed), seen.lineage_node.version),
            queue_write(ctx, table, removed, retention=None),
        ]

    update_transaction(ctx.store, attempt)
    return removed


def queue_write(ctx: Context, table: TableName, segments: Sequence[str], *, retention: str | None) -> Write:
    """The conditional write that adds segments to the table's queue."""
    path = paths.pending_deletions(table.typed)
    node = ctx.store.get(path)
    item = {"requestedMs": str(ctx.clock()), **({"retention": retention} if retention is not None else {})}
    before = node.record if node and node.record else ZNRecord(table.typed)
    record = replace(before, maps={**before.maps, **{s: dict(item) for s in segments}})
    return Create(path, record) if node is None else Replace(path, record, node.version)


def release_name(ctx: Context, table: TableName, segment: str, *, wait_s: float = 10.0) -> None:
    """Before a segment's file is written: take its name off the queue, or wait until a deletion under way is through.

    Raises StateConflict when that deletion does not finish.
    """
    deadline = time.monotonic() + wait_s
    path = paths.pending_deletions(table.typed)
    while True:
        node = ctx.store.get(path)
        item = node.record.maps.get(segment) if node and node.record else None
        if item is None:
            return
        if not _is_claimed(item, ctx.clock()):
            _forget(ctx, table, [segment], unclaimed_only=True)
            continue
        if time.monotonic() > deadline:
            raise StateConflict(f"Segment '{segment}' of table '{table}' is just being deleted.", remedy="Try again in a minute.")
        time.sleep(0.05)


def drain(ctx: Context, table: TableName) -> list[str]:
    """Finish what can be finished of the table's queue; returns one sentence per segment done."""
    claimed = _claim(ctx, table)
    sentences = []
    for segment, item in claimed.items():
        try:
            fate = _delete_file(ctx, table, segment, item.get("retention"))
            ctx.store.delete(paths.segment(table.typed, segment))
            sentences.append(f"Deleted segment {segment} of {table}: {fate}.")
        except Exception:
            log.exception("Deleting segment %s of %s failed; it stays in the queue.", segment, table)
            continue
        _forget(ctx, table, [segment], unclaimed_only=False)
    return sentences


def drain_all(ctx: Context) -> list[str]:
    """Drain the queue of every table that has one."""
    sentences = []
    for typed in ctx.store.children(paths.PENDING_DELETIONS):
        raw, _, kind = typed.rpartition("_")
        table = TableName(raw, "REALTIME" if kind == "REALTIME" else "OFFLINE")
        sentences += drain(ctx, table)
    return sentences


def _claim(ctx: Context, table: TableName) -> dict[str, dict[str, str]]:
    """Mark what is out of ideal state and external view as ours; names that came back leave the queue."""
    claimed: dict[str, dict[str, str]] = {}

    def attempt() -> Sequence[Write] | None:
        claimed.clear()
        node = ctx.store.get(paths.pending_deletions(table.typed))
        if node is None or node.record is None or not node.record.maps:
            return None
        ideal = ctx.store.get(paths.ideal_state(table.typed))
        view = ctx.store.get(paths.external_view(table.typed))
        wanted = ideal.record.maps if ideal and ideal.record else {}
        served = view.record.maps if view and view.record else {}
        now = ctx.clock()
        items = {s: i for s, i in node.record.maps.items() if s not in wanted}
        claimed.update({s: i for s, i in items.items() if s not in served and not _is_claimed(i, now)})
        marked = {s: ({**i, "claimedMs": str(now)} if s in claimed else i) for s, i in items.items()}
        if marked == node.record.maps:
            return None
        writes: list[Write] = [Replace(paths.pending_deletions(table.typed), replace(node.record, maps=marked), node.version)]
        return [*writes, *([Check(paths.ideal_state(table.typed), ideal.version)] if ideal else [])]

    update_transaction(ctx.store, attempt)
    return claimed


def _forget(ctx: Context, table: TableName, segments: Sequence[str], *, unclaimed_only: bool) -> None:
    def decide(node: Versioned | None) -> ZNRecord | None:
        if node is None or node.record is None:
            return None
        now = ctx.clock()
        gone = {s for s in segments if not (unclaimed_only and _is_claimed(node.record.maps.get(s, {}), now))}
        return replace(node.record, maps={s: i for s, i in node.record.maps.items() if s not in gone})

    update_record(ctx.store, paths.pending_deletions(table.typed), decide)


def _delete_file(ctx: Context, table: TableName, segment: str, asked: str | None) -> str:
    """Move the file to Deleted_Segments, or remove it when nothing is to be kept; says what was done."""
    store, path = ctx.deep_store, ctx.deep_store.segment_path(table.raw, segment)
    try:
        own = asked if asked is not None else read_table_config(ctx, table).deleted_retention
    except Exception:  # noqa: BLE001  the table is gone or unreadable: the cluster's own time holds
        own = asked
    target = rules.deleted_file_path(table.raw, path.rsplit("/", 1)[1], own, ctx.limits.deleted_segments_days, ctx.clock())
    store.delete(path + ".metadata.tar.gz")
    if target is None:
        return "its file is removed" if store.delete(path) else "it had no file"
    return f"its file is kept as {target}" if store.move(path, target) else "it had no file"


def _is_claimed(item: dict[str, str], now_ms: int) -> bool:
    return "claimedMs" in item and now_ms - int(item["claimedMs"]) < CLAIM_MS


def _blocked(table: TableName, locked: Sequence[str]) -> StateConflict:
    return StateConflict(
        f"Segments of table '{table}' are part of a replacement and can not be deleted. Blocking segments: [{', '.join(locked)}].",
        remedy="End or revert the replacement first; its clean-up then removes them.",
        segments=list(locked),
    )
