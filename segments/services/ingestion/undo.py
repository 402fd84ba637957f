"""Takes a session back whose rows are visible: by the rollback of its replacement or, where it replaced nothing and the
lineage has forgotten it, by deleting its segments. Both can be undone from the kept files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from segments.domain.formats.plural import counted
from segments.domain.ingestion.session import IngestionSession, SessionState
from segments.domain.ingestion.transitions import EndReason
from segments.domain.replacement.lineage import State
from segments.errors import NotFound, StateConflict
from segments.names import TableName, shown
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.ingestion.manifest import Manifest, read_manifest
from segments.services.ingestion.session_store import change_session, find_session
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.rollback import preview_rollback, roll_back
from segments.services.segments.deletion import delete_segments


@dataclass(frozen=True)
class UndoPreview:
    """What undoing would do. ``removed`` segments leave the table, ``restored`` ones come back. ``by_rollback``: it is
    one switch of the lineage; else the segments are deleted. ``blockers``: why it cannot be done.
    """

    removed: tuple[str, ...]
    restored: tuple[str, ...]
    by_rollback: bool
    blockers: tuple[str, ...] = ()


def preview_undo(ctx: Context, table: TableName, session_id: str) -> UndoPreview:
    """Changes nothing. NotFound for a session that ZooKeeper has not, StateConflict for one that is not done."""
    session, manifest = _read(ctx, table, session_id)
    seen = observe(ctx, table)
    entry = seen.lineage.entries.get(session.entry_id) if session.entry_id else None
    visible = frozenset(seen.lineage.visible(seen.ideal.maps))
    if entry is not None and entry.state is State.COMPLETED:
        found = preview_rollback(ctx, table, session.entry_id)
        return UndoPreview(manifest.segments_to, manifest.segments_from, True, tuple(found.blockers))
    left = tuple(name for name in manifest.segments_to if name in visible)
    if not left:
        return UndoPreview((), (), False, ("None of its segments is visible any more.",))
    if manifest.segments_from:
        why = (
            f"What it replaced is gone: {counted(len(manifest.segments_from), 'segment', 'is', 'are')} no longer kept."
        )
        return UndoPreview(left, (), False, (why,))
    return UndoPreview(left, (), False)


def undo_session(ctx: Context, table: TableName, session_id: str, *, actor: Actor) -> UndoPreview:
    """Take its rows back; returns what was done. Files that it read count as ingested until they change; a sync or a
    swap reads them again.

    Raises what ``preview_undo`` raises, and StateConflict with what stands in the way.
    """
    found = preview_undo(ctx, table, session_id)
    if found.blockers:
        raise StateConflict(
            f"Session '{session_id}' cannot be undone: {' '.join(found.blockers)}",
            remedy="The tab Lineage shows what the table can go back to.",
        )
    session, _ = _read(ctx, table, session_id)
    with audit.recorded(ctx, actor, "undoIngestionSession", table.typed, session=session_id):
        if found.by_rollback:
            roll_back(ctx, table, session.entry_id, actor=actor)
        else:
            _delete(ctx, table, found.removed, actor)
        change_session(ctx, table, session_id, lambda now: now.changed(ctx.clock(), end_reason=EndReason.UNDONE))
    return found


def _delete(ctx: Context, table: TableName, segments: Sequence[str], actor: Actor) -> None:
    refused = [o for o in delete_segments(ctx, table, segments, actor=actor) if o.outcome in ("refused", "failed")]
    if refused:
        raise StateConflict(
            f"{len(refused)} of {len(segments)} segments were not deleted, first '{refused[0].segment}': "
            f"{refused[0].message}",
            remedy=refused[0].remedy or "Undo the session once more.",
        )


def _read(ctx: Context, table: TableName, session_id: str) -> tuple[IngestionSession, Manifest]:
    stored = find_session(ctx, table, session_id)
    if stored is None:
        raise NotFound(
            f"Session '{shown(session_id)}' of table '{table}' is not kept any more.",
            remedy="Roll its replacement back in the tab Lineage, or delete its segments.",
        )
    session = stored.session
    is_undone = session.end_reason == EndReason.UNDONE
    if session.state is not SessionState.DONE or is_undone:
        what = "was undone already" if is_undone else f"is {session.state}, so nothing is visible"
        raise StateConflict(f"Session '{session_id}' {what}.", remedy="Cancel it instead, if it is open.")
    return session, read_manifest(ctx, session)
