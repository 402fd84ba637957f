"""Deletion is last and durable (rule `deletion-last`): checks and audit here, the deletion itself by the engine."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from segments.domain.segments.archive import Outcome
from segments.domain.upkeep import retention as rules
from segments.errors import PinotAdminError
from segments.names import TableName, split_table_name
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.segments import last_copies
from segments.store import paths

log = logging.getLogger(__name__)

#: Names in an audit record.
_SHOWN: Final = 100


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
