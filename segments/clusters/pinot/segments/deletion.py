"""Deleting segments of a real Pinot: guarded here whatever its version guards, kept as copies where the table asks for
it, then its REST.

Always by names in the body (``POST /segments/{table}/delete``): to an old controller a ``DELETE /segments/{table}``
that names segments in its query deletes them all.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from segments.clusters.pinot.calls import Doubt, controller, quoted, settled
from segments.clusters.pinot.segments import kept_copies as pinot_kept
from segments.domain.segments.archive import Outcome
from segments.errors import StateConflict
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.engine.segments import Deletion
from segments.services.replacement.lineage_record import observe
from segments.services.segments.deletion_guard import blocked, decide, guarded
from segments.store import paths

log = logging.getLogger(__name__)

_BATCH: Final = 500
_ANSWER_S: Final = 60.0


def remove(
    ctx: Context, table: TableName, segments: Sequence[str], *, retention: str | None, actor: Actor, guard: bool
) -> None:
    """As ``SegmentEngine.remove``: all or, when any is locked or pinned, none."""
    seen = observe(ctx, table)
    locked = sorted(set(segments) & guarded(seen)) if guard else []
    if locked:
        raise blocked(table, locked)
    present = [s for s in dict.fromkeys(segments) if s in seen.ideal.maps]
    pinot_kept.keep_before(ctx, table, present, actor, config=seen.config)
    _delete(ctx, table, present, retention)


def delete(
    ctx: Context, table: TableName, segments: Sequence[str], *, retention: str | None, dry_run: bool, actor: Actor
) -> Deletion:
    """As ``SegmentEngine.delete``: what may be deleted is, and each name has its outcome."""
    seen = observe(ctx, table)
    outcomes = decide(seen, segments)
    doomed = [s for s, o in outcomes.items() if o.outcome == "done"]
    if not dry_run and doomed:
        remove(ctx, table, doomed, retention=retention, actor=actor, guard=True)
    note = pinot_kept.fate(seen.config, retention)
    outcomes.update({s: Outcome(s, "done", f"Segment '{s}' is deleted. {note}") for s in doomed})
    return Deletion(list(outcomes.values()))


def delete_hidden(ctx: Context, table: TableName, segments: Sequence[str]) -> list[str]:
    """Delete what no query sees, without guard or copies; returns the names that Pinot refused to delete (a lineage
    entry locks them).
    """
    try:
        _delete(ctx, table, list(segments), None)
    except StateConflict as error:
        log.warning("Pinot keeps %d hidden segments of %s: %s", len(segments), table, error)
        return list(segments)
    return []


def _delete(ctx: Context, table: TableName, segments: Sequence[str], retention: str | None) -> None:
    """Until Pinot has taken them out of the ideal state; deleting a segment that is gone changes nothing, so it may be
    repeated.
    """
    for at in range(0, len(segments), _BATCH):
        batch = list(segments[at : at + _BATCH])

        def send(names: list[str] = batch) -> bool:
            path = f"/segments/{quoted(table.typed)}/delete"
            controller(ctx).send("POST", path, {"retention": retention}, names, timeout=_ANSWER_S)
            return True

        def find(doubt: Doubt, names: list[str] = batch) -> bool | None:
            node = ctx.store.get(paths.ideal_state(table.typed))
            rows = node.record.maps if node and node.record else {}
            return None if any(s in rows for s in names) else True

        settled(send, find)
