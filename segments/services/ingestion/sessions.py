"""File ingestion sessions as people, schedules and workers use them: trigger, read, cancel, clear, resume."""

from __future__ import annotations

import logging
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from segments.domain.ingestion.plan import (
    Plan,
    added_again,
    crossing_segments,
    replaced_segments,
    split_segments,
    widened,
)
from segments.domain.ingestion.run_limits import left_sentence
from segments.domain.ingestion.session import (
    FileRecord,
    FileState,
    IngestionSession,
    SessionState,
    count,
)
from segments.domain.ingestion.task_config import IngestionTask
from segments.domain.ingestion.transitions import (
    Begin,
    Decision,
    EndReason,
    Idle,
    Retry,
    SwitchAgain,
    clears,
    on_trigger,
)
from segments.domain.segments import segment_metadata
from segments.errors import Conflict, NotFound, StateConflict, Unavailable
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.ingestion.blocked_switch import is_switched, settle_switched
from segments.services.ingestion.discard import discard, remove_leftovers
from segments.services.ingestion.held_session import PICKUP_MS, acquire, next_run
from segments.services.ingestion.manifest import Manifest, read_manifest, write_manifest, write_registry
from segments.services.ingestion.session_store import (
    all_sessions,
    change_session,
    create_session,
    find_session,
    read_task,
    remove_sessions,
    tables_with_sessions,
)
from segments.services.ingestion.situation import Found, read_situation
from segments.services.ingestion.slices.kept_rows import Split, preview_splits
from segments.services.jobs.queue import enqueue_session
from segments.store import paths

log = logging.getLogger(__name__)
_ATTEMPTS: Final = 5
#: What becomes of files in a run; the others are kept as they are.
_FATES: Final = {FileState.PENDING: "read", FileState.DEFERRED: "deferred", FileState.DROPPED: "dropped"}


@dataclass(frozen=True)
class TriggerResult:
    """``session_id`` is the session that a run began of; None: none did, and ``why``. ``is_busy``: because a run is
    under way. ``notes`` are worth knowing in any case.
    """

    session_id: str | None
    why: str = ""
    is_busy: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Preview:
    """What a trigger would do now. ``files``: how many of which fate (``read``, ``deferred`` to the triggers after it,
    ``kept``, ``dropped``, ``unchanged``); ``to_read`` names the first of those to read. ``segments`` would be replaced
    if the switch began now; ``crossing`` are those at the edge of the replaced part, because of which it would be
    refused. ``rows_may_duplicate`` names the first files that changed and whose earlier rows stay, too. ``rows`` and
    ``bytes`` are those of ``segments``; ``splits`` says of which of them how many rows stay.
    """

    what: str
    files: dict[str, int] = field(default_factory=dict)
    to_read: tuple[str, ...] = ()
    vanished: tuple[str, ...] = ()
    segments: tuple[str, ...] = ()
    crossing: tuple[str, ...] = ()
    rows_may_duplicate: tuple[str, ...] = ()
    rows: int = 0
    bytes: int = 0
    splits: tuple[Split, ...] = ()


def trigger(ctx: Context, table: TableName, actor: Actor, *, forced: bool = False) -> TriggerResult:
    """Begin a session, or the next run of the one that is open; hand it to the workers. ``forced``: a swap is done
    although nothing changed.

    A run under way is left alone. Raises NotFound, InvalidInput, Forbidden, StateConflict and Unavailable for what
    cannot be ingested; nothing is changed then.
    """
    for _ in range(_ATTEMPTS):
        if not _is_tidy(ctx, table):
            return TriggerResult(None, "The last session is being closed.", is_busy=True)
        found = _remembered(ctx, table, read_situation(ctx, table, forced=forced))
        is_visible = found.session is not None and is_switched(ctx, table, found.session)
        decision = SwitchAgain() if is_visible else on_trigger(found.situation)
        try:
            result = _carry_out(ctx, table, found, decision, actor)
        except Conflict:
            continue  # another trigger was faster: decide on what it left
        if result is not None:
            return result
    return TriggerResult(None, "Other triggers of the table were faster.", is_busy=True)


def current(ctx: Context, table: TableName) -> IngestionSession | None:
    """The table's newest session; None when there was none."""
    stored = find_session(ctx, table, read_task(ctx, table).current)
    return stored.session if stored is not None else None


def history(ctx: Context, table: TableName) -> list[IngestionSession]:
    """Every session that is kept, newest first."""
    return all_sessions(ctx, table)


def files_of(ctx: Context, session: IngestionSession) -> Sequence[FileRecord]:
    """All files of a session, sorted by URI. Unavailable when its manifest was just replaced: read it again."""
    return read_manifest(ctx, session).files


def cancel(ctx: Context, table: TableName, actor: Actor) -> IngestionSession:
    """Give the open session up and take back what it did; where a part of the system does not answer, the pass does
    that later. NotFound when none is open, StateConflict if it switches.
    """
    session = _open_session(ctx, table)
    _check_not_switching(ctx, table, session)
    try:
        discard(ctx, table, session, EndReason.CANCELLED, actor)
    except (OSError, Unavailable) as error:
        given_up = find_session(ctx, table, session.id)
        if given_up is None or not given_up.session.has_leftovers:
            raise
        log.warning("What session %s of %s left is removed later: %s", session.id, table, error)
    audit.record(actor, "cancelIngestionSession", cluster=ctx.cluster, target=table.typed, session=session.id)
    after = find_session(ctx, table, session.id)
    return after.session if after is not None else session


def retry_now(ctx: Context, table: TableName, actor: Actor) -> TriggerResult:
    """The next run of the open session, without waiting for the schedule. NotFound when none is open."""
    _open_session(ctx, table)
    return trigger(ctx, table, actor)


def clear_state(ctx: Context, table: TableName, actor: Actor) -> list[str]:
    """Give the open session up and remove every session's record; what is visible stays, and is known as ingested.
    Returns the ids.
    """
    session = current(ctx, table)
    if session is not None and session.is_open:
        _check_not_switching(ctx, table, session)
        discard(ctx, table, session, EndReason.CLEARED, actor)
    return _remove_records(ctx, table, actor)


def preview(ctx: Context, table: TableName, *, forced: bool = False) -> Preview:
    """What a trigger would do now; nothing is changed. Raises what ``trigger`` raises, but not for segments that cross
    the edge of the replaced part: these are listed.
    """
    found = read_situation(ctx, table, forced=forced)
    task, visible = found.setup.task, found.situation.visible
    crossing, splits = crossing_segments(task, visible), split_segments(task, visible)
    if crossing and task.selector is not None and (visible.no_split or not splits):
        what = f"Refused: segments cross the edge of the replaced {task.selector.what}."
        return Preview(f"{what} {visible.no_split or widened(task.selector)}", crossing=crossing)
    decision, now = on_trigger(found.situation), found.situation
    if isinstance(decision, Idle):
        return Preview(decision.why, {"unchanged": len(now.listing)})
    files, gone, what = _fate(decision, found)
    fates = Counter(_FATES.get(f.state, "kept") for f in files)
    listed = {f.uri for f in files}
    fates["unchanged"] = sum(1 for uri in now.listing if uri not in listed)
    shown = [f for f in files if f.state is not FileState.DROPPED]
    if not now.task.consistent:
        shown = [f for f in shown if f.state is not FileState.DEFERRED]
    staged = [replace(f, state=FileState.BUILT) for f in shown]
    old = replaced_segments(now.task, staged, gone, now.registry, now.visible)
    to_read = tuple(f.uri for f in files if f.state is FileState.PENDING)[:100]
    twice = added_again(now.task, files, now.registry)[:100]
    rows, size = _sums(ctx, table, old)
    split = preview_splits(ctx, table, found.setup, splits)
    return Preview(what, dict(fates), to_read, gone, old, (), twice, rows, size, split)


def resume_lost(ctx: Context) -> list[str]:
    """Hand runs that nobody works on to the queue again; one sentence each."""
    done = []
    for table in tables_with_sessions(ctx):
        session = current(ctx, table)
        now = ctx.clock()
        if session is not None and settle_switched(ctx, table, session):
            done.append(f"Session {session.id} of {table} goes on: its lineage entry was ended elsewhere.")
            continue
        if session is None or not session.task or now < session.lease_until_ms:
            continue

        def take(found: IngestionSession, was: IngestionSession = session, now: int = now) -> IngestionSession:
            if (found.owner, found.lease_until_ms) != (was.owner, was.lease_until_ms):
                return found
            return found.changed(now, owner="", lease_until_ms=now + PICKUP_MS)

        change_session(ctx, table, session.id, take)
        enqueue_session(ctx, table.typed, session.id)
        done.append(f"Session {session.id} of {table} was queued again: nobody worked on it.")
    return done


def _carry_out(ctx: Context, table: TableName, found: Found, decision: Decision, actor: Actor) -> TriggerResult | None:
    """None: decide again."""
    match decision:
        case Idle(why=why, is_busy=is_busy):
            return TriggerResult(None, why, is_busy=is_busy, notes=_notes(found))
        case Begin(plan=plan, discards=discards, reason=reason):
            if discards is not None and reason is not None:
                discard(ctx, table, discards, reason, actor)
            if clears(found.situation):
                _remove_records(ctx, table, actor)
            if discards is not None or clears(found.situation):
                found = replace(found, record=read_task(ctx, table))
            return _begin(ctx, table, found, plan, actor)
        case Retry(files=files, vanished=gone, is_continued=is_continued):
            manifest = replace(found.manifest, files=files, vanished=gone)
            return _go_on(ctx, table, found, manifest, actor, retries=0 if is_continued else 1)
        case SwitchAgain():
            return _go_on(ctx, table, found, found.manifest, actor, retries=1)


def _remembered(ctx: Context, table: TableName, found: Found) -> Found:
    """Write down the times of files that were touched without a change, so that they are not read for it again; not
    while a session is open, which writes that list itself. A trigger that was faster wrote it.
    """
    session = found.session
    if found.touched is None or (session is not None and session.is_open):
        return found
    uri = write_registry(ctx, table, found.touched)
    try:
        ctx.store.transaction([found.record.write(ctx, table, registry_uri=uri)])
    except Conflict:
        ctx.deep_store.delete(uri)
    else:
        ctx.deep_store.delete(found.record.registry_uri)
    return replace(found, record=read_task(ctx, table))


def _begin(ctx: Context, table: TableName, found: Found, plan: Plan, actor: Actor) -> TriggerResult:
    cleared = {"cleared_for": found.setup.version} if clears(found.situation) else {}
    if plan.idle:
        if cleared:
            ctx.store.transaction([found.record.write(ctx, table, **cleared)])
        return TriggerResult(None, plan.idle, notes=_notes(found))
    task, now = found.setup.task, ctx.clock()
    session_id = f"{'cp' if task.consistent else 'run'}_{now}_{uuid.uuid4().hex[:8]}"
    manifest = Manifest(plan.files, plan.vanished)
    uri = write_manifest(ctx, table, session_id, manifest)
    session = IngestionSession(
        session_id, SessionState.INIT, task.mode, task.swap, task.consistent, now, found.setup.hash, task.input_dir,
        actor.name, 0, task.max_retries, now, counts=count(plan.files), manifest_uri=uri, manifest_version=1,
        changed_files=len(added_again(task, plan.files, found.situation.registry)),
    )  # fmt: skip
    session = replace(session, **next_run(session, now))
    create_session(ctx, table, found.record, session, **cleared)
    _record(ctx, table, session, actor, "begin")
    enqueue_session(ctx, table.typed, session_id)
    return TriggerResult(session_id, notes=(*_notes(found), *_left(session)))


def _go_on(
    ctx: Context, table: TableName, found: Found, manifest: Manifest, actor: Actor, *, retries: int
) -> TriggerResult:
    """The next run of the open session, which counts as so many ``retries``. Conflict when another trigger was
    faster.
    """
    before, now = found.session, ctx.clock()
    assert before is not None
    uri = write_manifest(ctx, table, before.id, manifest)

    def go_on(session: IngestionSession) -> IngestionSession:
        same = (session.manifest_version, session.state, session.task, session.retry_count, session.end_reason)
        if same != (before.manifest_version, before.state, "", before.retry_count, ""):
            raise Conflict(f"Session '{session.id}' was changed by somebody else.")
        return session.changed(
            now, **next_run(session, now), retry_count=session.retry_count + retries,
            max_retries=found.setup.task.max_retries, manifest_uri=uri,
            manifest_version=session.manifest_version + 1, counts=count(manifest.files),
            segments_from=manifest.segments_from, segments_to=manifest.segments_to, triggered_by=actor.name,
            changed_files=len(added_again(found.setup.task, manifest.files, found.situation.registry)),
        )  # fmt: skip

    session = change_session(ctx, table, before.id, go_on)
    _record(ctx, table, session, actor, "retry" if retries else "continue")
    enqueue_session(ctx, table.typed, session.id)
    return TriggerResult(session.id, notes=(*_notes(found), *_left(session)))


def _is_tidy(ctx: Context, table: TableName) -> bool:
    """What the last session left is removed first; False while somebody else is at it."""
    session = current(ctx, table)
    if session is None or not session.has_leftovers:
        return True
    try:
        held = acquire(ctx, table, session.id, f"tidy {ctx.new_id()}")
    except StateConflict:
        return False
    if held is not None:
        remove_leftovers(held)
    return True


def _remove_records(ctx: Context, table: TableName, actor: Actor) -> list[str]:
    removed = remove_sessions(ctx, table)
    audit.record(actor, "clearIngestionSessions", cluster=ctx.cluster, target=table.typed, sessions=removed)
    return removed


def _open_session(ctx: Context, table: TableName) -> IngestionSession:
    session = current(ctx, table)
    if session is None or not session.is_open:
        raise NotFound(f"Table '{table}' has no open file ingestion session.", remedy="Trigger one.")
    return session


def _check_not_switching(ctx: Context, table: TableName, session: IngestionSession) -> None:
    is_running = session.is_running and session.state is SessionState.SWITCH
    if is_running or is_switched(ctx, table, session):
        raise StateConflict(
            f"Session '{session.id}' is switching and cannot be given up.",
            remedy="Wait until it is done; then revert its lineage entry instead.",
        )


def _sums(ctx: Context, table: TableName, segments: Sequence[str]) -> tuple[int, int]:
    """Rows and bytes of these segments, by their records."""
    nodes = ctx.store.get_many([paths.segment(table.typed, name) for name in segments])
    known = [segment_metadata.from_record(n.record) for n in nodes if n is not None and n.record is not None]
    return sum(m.total_docs or 0 for m in known), sum(m.size_bytes or 0 for m in known)


def _fate(decision: Decision, found: Found) -> tuple[Sequence[FileRecord], tuple[str, ...], str]:
    match decision:
        case Begin(plan=plan, discards=discards, reason=reason):
            what = f"Session {discards.id} would be discarded ({reason}); " if discards is not None else ""
            return plan.files, plan.vanished, f"{what}{plan.idle or 'a session would begin.'}"
        case Retry(files=files, vanished=gone, is_continued=is_continued):
            what = "continued with what its last run left" if is_continued else "retried"
            return files, gone, f"The open session would be {what}."
        case _:
            return found.manifest.files, found.manifest.vanished, "The switch would be driven again."


def _notes(found: Found) -> tuple[str, ...]:
    notes = []
    task: IngestionTask = found.setup.task
    if task.clear and found.record.cleared_for == found.setup.version:
        notes.append("clearConsistentPushState was honoured for this version of the table config and is ignored now.")
    return tuple(notes)


def _left(session: IngestionSession) -> tuple[str, ...]:
    sentence = left_sentence(session.counts.pending, session.counts.deferred)
    return (sentence,) if sentence else ()


def _record(ctx: Context, table: TableName, session: IngestionSession, actor: Actor, what: str) -> None:
    audit.record(
        actor, "triggerIngestionSession", cluster=ctx.cluster, target=table.typed, session=session.id, what=what,
        files=session.counts.pending, retry=session.retry_count,
    )  # fmt: skip
