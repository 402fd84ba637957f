"""Undo of a rollback on a Pinot cluster: the copies that were kept come in as a replacement of their own, under new
names.

Pinot hides for ever what has the name of a segment that it reverted, and deletes it; so each comes back under its old
name with a suffix. The start is on record under an id that names the rollback: a process that dies leaves an entry that
the same call finds and continues.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from segments.clusters.pinot.replacement.lineage import lineage_now
from segments.clusters.pinot.replacement.start import resolve_start
from segments.clusters.pinot.replacement.start_records import find_intent, forget_intent
from segments.clusters.pinot.segments import uploads as pinot_uploads
from segments.domain.realtime.llc_name import is_llc_name
from segments.domain.replacement.lineage import HEARTBEAT, LEASE, UNDOES, Entry, State
from segments.domain.replacement.undo.plan import UndoPlan
from segments.errors import PinotAdminError, PreconditionFailed, StateConflict
from segments.names import TableName
from segments.segmentfile.packed.rename import rename_tar
from segments.services.core import audit
from segments.services.core.context import SYSTEM, Actor, Context
from segments.services.engine.lineage import Undone
from segments.services.engine.segments import Upload
from segments.services.replacement import protocol
from segments.services.replacement.ends.waiting_ends import kept_alive
from segments.services.replacement.lineage_record import note_entry, observe
from segments.services.replacement.undo.planning import blockers, plan_of
from segments.services.replacement.undo.undo_entry import held
from segments.services.segments import archive
from segments.services.segments.archive import document_path, kept_path
from segments.services.segments.upload_options import UploadOptions

_SUFFIX: Final = "_undo"


def undo(ctx: Context, table: TableName, entry_id: str, *, force: bool, actor: Actor) -> Undone:
    """As ``LineageEngine.undo``; what fails for good is taken back first."""
    with held(ctx, f"{table.typed}-{entry_id}"):
        plan, entry = _opened(ctx, table, entry_id, force, actor)
        try:
            with kept_alive(ctx, table, entry.id):
                for segment in entry.segments_to:
                    _bring(ctx, table, segment, entry.id)
                why = f"It undoes the rollback of entry {plan.target}."
                protocol.end_replace(ctx, table, entry.id, actor=actor, override=actor.reason or why)
        except PinotAdminError as error:
            if error.permanent:
                _give_up(ctx, table, entry.id, actor, str(error))
                forget_intent(ctx, table, _intent(plan.target))
            raise
        forget_intent(ctx, table, _intent(plan.target))
        _forget_copies(ctx, table, [_old_name(s) for s in entry.segments_to])
        return Undone(plan, lineage_now(ctx, table).entry(entry.id), None)


def _opened(ctx: Context, table: TableName, entry_id: str, force: bool, actor: Actor) -> tuple[UndoPlan, Entry]:
    """The plan, and its entry: the one that an earlier call left open, else a new one."""
    seen = observe(ctx, table)
    plan = plan_of(ctx, table, seen, entry_id)
    left = _left_open(ctx, table, plan.target)
    if left is None:
        for blocker in blockers(ctx, table, seen, plan, force=force):
            raise blocker
        _check_names(plan)
        new = [f"{s}{_SUFFIX}{ctx.clock() // 1000:x}" for s in plan.back]
        opened = protocol.start_replace(ctx, table, plan.gone, new, actor=actor, entry_id=_intent(plan.target))
        left = lineage_now(ctx, table).entry(opened)
    note_entry(ctx, table, left.id, {UNDOES: plan.target, LEASE: "true", HEARTBEAT: str(ctx.clock())})
    return plan, left


def _left_open(ctx: Context, table: TableName, target: str) -> Entry | None:
    intent = find_intent(ctx, table, _intent(target))
    if intent is None:
        return None
    found = resolve_start(ctx, table, intent)
    entry = lineage_now(ctx, table).entries.get(found) if found else None
    if entry is not None and entry.state is State.IN_PROGRESS:
        return entry
    forget_intent(ctx, table, intent.id)
    return None


def _intent(target: str) -> str:
    return f"undo-{target}"


def _old_name(segment: str) -> str:
    return segment.rpartition(_SUFFIX)[0]


def _check_names(plan: UndoPlan) -> None:
    """A consumed segment's name says its place in the stream: it cannot come back under another."""
    consumed = [s for s in plan.back if is_llc_name(s)]
    if consumed:
        raise PreconditionFailed(
            f"Segment '{consumed[0]}' was consumed from a stream: it cannot come back under another name.",
            remedy="Wait until Pinot has dropped the reverted entry, then restore it by name.",
            entry=plan.target,
            segments=consumed,
        )


def _bring(ctx: Context, table: TableName, segment: str, entry_id: str) -> None:
    """One kept copy, under its new name, into the open entry; nothing when it is there already."""
    if segment in observe(ctx, table).ideal.maps:
        return
    old = _old_name(segment)
    kept = archive.find(ctx, table, [old]).get(old)
    if kept is None or not kept.is_there:
        raise PreconditionFailed(
            f"The kept copy of segment '{old}' is gone.", remedy="Push the data again.", segments=[old]
        )
    with tempfile.TemporaryDirectory(prefix="undo-") as folder:
        tar, work = Path(folder) / "kept.tar.gz", Path(folder) / "work"
        work.mkdir()
        archive.kept_context(ctx).deep_store.fetch(kept_path(table, kept.file), tar)
        upload = Upload(table, UploadOptions(), entry_id, SYSTEM)
        pinot_uploads.upload_tar(ctx, upload, rename_tar(tar, segment, work))


def _give_up(ctx: Context, table: TableName, entry_id: str, actor: Actor, why: str) -> None:
    """What it brought was never seen: Pinot deletes it, and the copies are still kept under their old names."""
    try:
        done = protocol.revert(ctx, table, entry_id, force=True, actor=actor, keeps_copies=False)
    except StateConflict:
        return  # somebody took it back already
    detail = {"entry": entry_id, "error": why, **protocol.switch_detail(done)}
    audit.record(actor, "undoRollbackGivenUp", cluster=ctx.cluster, target=table.typed, **detail)


def _forget_copies(ctx: Context, table: TableName, segments: Sequence[str]) -> None:
    store = archive.kept_context(ctx).deep_store
    for kept in archive.find(ctx, table, segments).values():
        store.delete(kept_path(table, kept.file))
        store.delete(document_path(table, kept.file))
