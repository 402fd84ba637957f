"""Deletion is last and durable (rule `deletion-last`): out of the ideal state into a queue in ZooKeeper, then file
and record.

Nothing is lost by a restart (rule `deletion-last`), a name that is uploaded again leaves the queue before its new file
is written (``release_name``), and what was deleted is kept with its record, so that it can come back
(``segments.services.segments.restore``).
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from segments.clusters.pinot.segments import deletion as pinot_deletion
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments import ideal_state
from segments.domain.segments.archive import Outcome
from segments.domain.upkeep import retention as rules
from segments.errors import NotFound, PinotAdminError, StateConflict
from segments.names import TableName, split_table_name
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.segments import archive, last_copies, restore
from segments.services.segments.deletion_guard import blocked, decide, guarded, is_exclusive
from segments.services.segments.deletion_queue import CLAIM_MS, Pending, claim_due, forget, queue_write, release_name
from segments.services.tables.table_record import read_table_config
from segments.store import paths
from segments.store.base import Check, Replace, Versioned, Write
from segments.store.update import update_transaction

__all__ = [
    "delete_segments",
    "drain",
    "drain_all",
    "queue_write",
    "reap_orphans",
    "release_name",
    "remove_hidden",
    "remove_segments",
]

log = logging.getLogger(__name__)

#: Segments whose files are put away under one claim; a claim must not run out meanwhile.
_BATCH: Final = 200
_CLAIM_USED_S: Final = CLAIM_MS / 1000 / 2


def remove_segments(
    ctx: Context,
    table: TableName,
    segments: Sequence[str],
    *,
    retention: str | None = None,
    actor: Actor,
    guard: bool = True,
    force: bool = False,
) -> None:
    """Take segments out of the table; their files are kept for ``retention`` (e.g. ``3d``), the table's or the
    cluster's time.

    Unknown names are ignored. With ``guard``, raises StateConflict when any is locked by an unfinished or completed
    replacement, or pinned; then nothing is touched. Segments that only servers have are copied into the deep store
    first; StateConflict where that fails, unless ``force`` says that they may be lost, which needs a reason
    (InvalidInput).
    """
    rules.check_retention(retention)
    last_copies.check_force(force, actor)
    if ctx.pinot is not None:
        pinot_deletion.remove_segments(ctx, table, segments, retention=retention, actor=actor, guard=guard)
        return
    failed, exclusive = last_copies.copy_to_store(ctx, table, segments), is_exclusive(ctx)

    def attempt() -> Sequence[Write] | None:
        seen = observe(ctx, table)
        locked = sorted(set(segments) & guarded(seen, exclusive=exclusive)) if guard else []
        if locked:
            raise blocked(table, locked)
        if lost := _lost(ctx, table, segments, failed, force):
            raise last_copies.lost(table, lost)
        return _leave(ctx, table, seen, [s for s in dict.fromkeys(segments) if s in seen.ideal.maps], retention, actor)

    try:
        update_transaction(ctx.store, attempt, turn=table.typed)
    except StateConflict as error:
        audit.record(
            actor, "deleteSegments", cluster=ctx.cluster, target=table.typed, outcome="refused", error=str(error)
        )
        raise
    audit.record(
        actor,
        "deleteSegments",
        cluster=ctx.cluster,
        target=table.typed,
        segments=list(segments)[:100],
        count=len(segments),
        **_final(failed, segments),
    )


def delete_segments(
    ctx: Context,
    table: TableName,
    segments: Sequence[str],
    *,
    retention: str | None = None,
    dry_run: bool = False,
    force: bool = False,
    actor: Actor,
) -> list[Outcome]:
    """Delete what may be deleted, in one transaction, and tell for each name what became of it; ``dry_run`` only tells.

    Outcomes: done, unchanged (no such segment), refused (part of a replacement, pinned, or only on servers and not to
    be copied into the deep store, unless ``force`` says that it may be lost). InvalidInput for a retention that is
    none, or ``force`` without a reason.
    """
    rules.check_retention(retention)
    last_copies.check_force(force and not dry_run, actor)
    if ctx.pinot is not None:
        return pinot_deletion.delete_segments(ctx, table, segments, retention=retention, dry_run=dry_run, actor=actor)
    outcomes: dict[str, Outcome] = {}
    failed = {} if dry_run else last_copies.copy_to_store(ctx, table, segments)
    exclusive = is_exclusive(ctx)

    def attempt() -> Sequence[Write] | None:
        seen = observe(ctx, table)
        lost = {} if dry_run else _lost(ctx, table, segments, failed, force)
        outcomes.update(decide(seen, segments, failed, exclusive=exclusive))
        outcomes.update({s: last_copies.refusal(s, why) for s, why in lost.items() if outcomes[s].outcome == "done"})
        leaving = [s for s, o in outcomes.items() if o.outcome == "done"]
        return None if dry_run else _leave(ctx, table, seen, leaving, retention, actor)

    update_transaction(ctx.store, attempt, turn=table.typed)
    found = list(outcomes.values())
    if not dry_run:
        done = [o.segment for o in found if o.outcome == "done"]
        not_done = [o.segment for o in found if o.outcome == "refused"]
        audit.record(
            actor,
            "deleteSegments",
            cluster=ctx.cluster,
            target=table.typed,
            outcome="done" if done or not not_done else "refused",
            segments=done[:100],
            count=len(done),
            refused=not_done[:100],
            **_final(failed, done),
        )
    return found


def _lost(
    ctx: Context, table: TableName, segments: Sequence[str], failed: Mapping[str, str], force: bool
) -> dict[str, str]:
    """{segment: why} of those that a deletion would lose: not copied, or on servers only since then."""
    if force:
        return {}
    return {s: failed.get(s, "it was committed just now.") for s in last_copies.only_on_servers(ctx, table, segments)}


def _final(failed: Mapping[str, str], done: Sequence[str]) -> dict[str, Any]:
    """For the audit record: deleted segments of which no copy is left."""
    lost = sorted(set(failed) & set(done))[:100]
    return {"lost": lost} if lost else {}


def remove_hidden(
    ctx: Context,
    table: TableName,
    segments: Sequence[str],
    *,
    still: Callable[[Observed], Collection[str]] | None = None,
) -> list[str]:
    """Take those of ``segments`` out that no query sees under the lineage of this very moment; returns them.

    Decided afresh in every attempt: a segment that became visible again, was pinned or taken over by an unfinished
    replacement meanwhile stays. ``still`` says which are to go as of now where that is not so simple. What only servers
    have is copied into the deep store first, where there is one; what can not be copied now stays hidden until a later
    pass can.
    """
    removed: list[str] = []
    failed = last_copies.copy_to_store(ctx, table, segments) if ctx.deep_store.exists else {}

    def attempt() -> Sequence[Write] | None:
        seen = observe(ctx, table)
        doomed = seen.lineage.hidden() - seen.lineage.pinned()
        doomed &= set(still(seen)) if still is not None else doomed - seen.lineage.coming()
        removed[:] = [s for s in dict.fromkeys(segments) if s in doomed and s in seen.ideal.maps and s not in failed]
        if not removed or seen.lineage_node is None:
            return None
        return _leave(ctx, table, seen, removed, None, _CLEAN_UP)

    update_transaction(ctx.store, attempt, turn=table.typed)
    return removed


_CLEAN_UP: Final = Actor("system", "no query sees it any more")


def reap_orphans(ctx: Context, table: TableName, segments: Sequence[str]) -> list[str]:
    """Queue those of ``segments`` that have a record but no row: what foreign programs that write in two steps left;
    returns them.
    """
    orphans: list[str] = []

    def attempt() -> Sequence[Write] | None:
        seen = observe(ctx, table)
        without_row = [s for s in dict.fromkeys(segments) if s not in seen.ideal.maps]
        nodes = ctx.store.get_many([paths.segment(table.typed, s) for s in without_row])
        orphans[:] = [s for s, n in zip(without_row, nodes, strict=True) if n is not None]
        check = Check(paths.ideal_state(table.typed), seen.ideal_version)
        return [queue_write(ctx, table, orphans, retention=None, actor=_CLEAN_UP), check] if orphans else None

    update_transaction(ctx.store, attempt, turn=table.typed)
    return orphans


def _leave(
    ctx: Context, table: TableName, seen: Observed, leaving: Sequence[str], retention: str | None, actor: Actor
) -> Sequence[Write] | None:
    """Out of the ideal state and into the queue, if the lineage is still the one seen; None when nothing leaves."""
    if not leaving:
        return None
    return [
        Replace(paths.ideal_state(table.typed), ideal_state.without_rows(seen.ideal, leaving), seen.ideal_version),
        queue_write(ctx, table, leaving, retention=retention, actor=actor, rows=seen.ideal.maps),
        *seen.same_lineage(),
    ]


def drain(ctx: Context, table: TableName) -> list[str]:
    """Finish what can be finished of the table's queue; returns plain sentences, one for each kind of thing done."""
    fates: dict[str, list[str]] = defaultdict(list)
    while claimed := claim_due(ctx, table, ctx.new_id(), _BATCH):
        done = _settle(ctx, table, claimed, ctx.timer.seconds() + _CLAIM_USED_S)
        for segment, fate in done.items():
            fates[fate].append(segment)
        if len(done) < len(claimed) or len(claimed) < _BATCH:
            break
    return [_sentence(table, fate, segments) for fate, segments in fates.items()]


def drain_all(ctx: Context) -> list[str]:
    """Drain the queue of every table that has one. A table on which it fails does not stop the others."""
    sentences = []
    for typed in ctx.store.children(paths.PENDING_DELETIONS):
        raw, kind = split_table_name(typed)
        if kind is None:
            continue
        try:
            sentences += drain(ctx, TableName(raw, kind))
        except PinotAdminError:
            log.exception("The deletions of %s could not be finished.", typed)
    return sentences


def _settle(ctx: Context, table: TableName, claimed: Mapping[str, Pending], deadline: float) -> dict[str, str]:
    """Files first, then records and queue items together; {segment: what was done}. Files are moved until ``deadline``
    (monotonic).
    """
    nodes = dict(zip(claimed, ctx.store.get_many([paths.segment(table.typed, s) for s in claimed]), strict=True))
    broken = {s: p for s, p in claimed.items() if p.restores}
    fates = restore.settle(ctx, table, broken, nodes)
    gone = [(p, _record(nodes[s])) for s, p in claimed.items() if s not in broken]
    put_away = archive.keep_all(ctx, table, gone, _own_term(ctx, table), deadline) if gone else {}
    token = next(iter(claimed.values())).claim
    forget(ctx, table, token, [*fates, *put_away], with_records=set(put_away))
    return {**fates, **put_away}


def _record(node: Versioned | None) -> ZNRecord | None:
    return node.record if node else None


def _own_term(ctx: Context, table: TableName) -> str | None:
    try:
        return read_table_config(ctx, table).deleted_retention
    except NotFound:
        return None  # the table is just being dropped: the cluster's own time holds
    except PinotAdminError:
        log.exception(
            "The config of %s can not be read; files of deleted segments are kept for the cluster's time.", table
        )
        return None


def _sentence(table: TableName, fate: str, segments: Sequence[str]) -> str:
    if len(segments) == 1:
        return f"Segment {segments[0]} of {table}: {fate}."
    return f"{len(segments)} segments of {table}, e.g. {segments[0]}: {fate}."
