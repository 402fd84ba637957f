"""How segments leave a table of the embedded cluster: out of the ideal state and into the deletion queue in one
transaction, on the lineage that was read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from segments.clusters.embedded.segments.copies_before_deletion import copy_to_store
from segments.clusters.embedded.segments.deletion_queue import queue_write
from segments.domain.segments import ideal_state
from segments.names import TableName
from segments.services.core.context import SYSTEM, Actor, Context
from segments.services.replacement.lineage_record import Observed, observe
from segments.store import paths
from segments.store.base import Check, Replace, Write
from segments.store.update import update_transaction

_CLEAN_UP: Final = Actor(SYSTEM.name, "no query sees it any more")


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
    have is copied into the deep store first, where there is one; what cannot be copied now stays hidden until a later
    pass can.
    """
    removed: list[str] = []
    failed = copy_to_store(ctx, table, segments) if ctx.deep_store.exists else {}

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
