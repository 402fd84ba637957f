"""Deletion is last and durable (rule `deletion-last`): checks and audit here, the deletion itself by the engine.

What no query sees and what has a record without a row is taken out here, too, for the clean-up of replacements and the
retention pass.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from typing import Final

from segments.domain.segments import ideal_state
from segments.domain.segments.archive import Outcome
from segments.domain.upkeep import retention as rules
from segments.errors import PinotAdminError
from segments.names import TableName, split_table_name
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.segments import last_copies
from segments.services.segments.deletion_queue import queue_write, release_name
from segments.store import paths
from segments.store.base import Check, Replace, Write
from segments.store.update import update_transaction

__all__ = [
    "delete_segments",
    "drain",
    "drain_all",
    "leave",
    "queue_write",
    "reap_orphans",
    "release_name",
    "remove_hidden",
    "remove_segments",
]

log = logging.getLogger(__name__)

#: Names in an audit record.
_SHOWN: Final = 100
_CLEAN_UP: Final = Actor("system", "no query sees it any more")


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
    named = {"segments": list(segments)[:_SHOWN], "count": len(segments)}
    with audit.recorded(ctx, actor, "deleteSegments", table.typed, **named) as detail:
        lost = ctx.engine.segments.remove(
            ctx, table, segments, retention=retention, actor=actor, guard=guard, force=force
        )
        if lost:
            detail["lost"] = list(lost)[:_SHOWN]


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
    """Delete what may be deleted, and report for each name what became of it; ``dry_run`` only reports.

    Outcomes: done, unchanged (no such segment), refused (part of a replacement, pinned, or only on servers and not to
    be copied into the deep store, unless ``force`` says that it may be lost). InvalidInput for a retention that is
    none, or ``force`` without a reason.
    """
    rules.check_retention(retention)
    last_copies.check_force(force and not dry_run, actor)
    engine = ctx.engine.segments
    if dry_run:
        preview = engine.delete(ctx, table, segments, retention=retention, dry_run=True, force=force, actor=actor)
        return list(preview.outcomes)
    with audit.recorded(ctx, actor, "deleteSegments", table.typed) as detail:
        found = engine.delete(ctx, table, segments, retention=retention, dry_run=False, force=force, actor=actor)
        done = [o.segment for o in found.outcomes if o.outcome == "done"]
        refused = [o.segment for o in found.outcomes if o.outcome == "refused"]
        detail.update(segments=done[:_SHOWN], count=len(done), refused=refused[:_SHOWN])
        if refused and not done:
            detail["outcome"] = "refused"
        if found.lost:
            detail["lost"] = list(found.lost)[:_SHOWN]
    return list(found.outcomes)


def remove_hidden(
    ctx: Context,
    table: TableName,
    segments: Sequence[str],
    *,
    still: Callable[[Observed], Collection[str]] | None = None,
) -> list[str]:
    """Take those of ``segments`` out that no query sees under the lineage of this very moment; returns them.

    Decided again in every attempt: a segment that became visible again, was pinned or taken over by an unfinished
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
        return leave(ctx, table, seen, removed, None, _CLEAN_UP)

    update_transaction(ctx.store, attempt, turn=table.typed)
    return removed


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


def leave(
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
    return ctx.engine.segments.drain(ctx, table)


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
