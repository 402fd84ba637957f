"""Throws an unfinished session away: nothing of it stays but its record and its list of files."""

from __future__ import annotations

from collections.abc import Sequence

from segments.domain.ingestion.session import IngestionSession, SessionState
from segments.domain.ingestion.transitions import EndReason
from segments.domain.push.push_plan import must_revert
from segments.domain.tables.table_config import TableConfig
from segments.errors import Conflict, PinotAdminError
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.ingestion.held_session import HeldSession
from segments.services.ingestion.one_by_one import settle_given_up
from segments.services.ingestion.session_store import change_session
from segments.services.ingestion.switch import SessionLoad, drop_staging
from segments.services.replacement.protocol import read_lineage, revert_replace
from segments.services.tables.table_record import read_table_config
from segments.spark.build_part import read_notes
from segments.store import paths


def discard(ctx: Context, table: TableName, session: IngestionSession, reason: EndReason, actor: Actor) -> None:
    """Fence the session's runner out, then take back what it did. Cut anywhere, the next pass does the rest. Conflict
    when the session has begun its switch since ``session`` was read: queries may see it already.
    """
    owner = f"discard {ctx.new_id()}"
    until = ctx.clock() + int(ctx.limits.push_lease_s * 1000)

    def give_up(now: IngestionSession) -> IngestionSession:
        if not (now.is_open or now.has_leftovers):
            return now
        if now.is_running and now.state is SessionState.SWITCH and session.state is not SessionState.SWITCH:
            raise Conflict(f"Session '{session.id}' has begun to switch.", remedy="Wait until it is done.")
        fields = {
            "owner": owner,
            "lease_until_ms": until,
            "task": "discard",
            "end_reason": now.end_reason or reason,
            "blocked": False,
        }
        return now.changed(ctx.clock(), **fields)

    given_up = change_session(ctx, table, session.id, give_up)
    if given_up.owner != owner:
        return
    audit.record(
        actor, "discardIngestionSession", cluster=ctx.cluster, target=table.typed, session=session.id,
        why=str(reason), files=session.counts.total,
    )  # fmt: skip
    remove_leftovers(HeldSession(ctx, table, given_up, owner))


def remove_leftovers(held: HeldSession) -> None:
    """Of a session that is over: revert the open lineage entry if it was given up, delete staged files, and close it.
    Idempotent; transient errors leave it to the next attempt.
    """
    if held.session.end_reason:
        _take_back(held)
    drop_staging(held.ctx, held.session.id)
    held.end_run(held.session.error, end_ms=held.session.end_ms or held.ctx.clock())


def _take_back(held: HeldSession) -> None:
    ctx, table, session = held.ctx, held.table, held.session
    actor = Actor(session.triggered_by, f"session {session.id} is discarded: {session.end_reason}")
    if not session.consistent:
        settle_given_up(held, _config(held), actor)
        _remove_unregistered(held, [b.name for b in read_notes(ctx.deep_store, session.id) if b.name])
    elif session.entry_id:
        held.ctx.engine.push.find_entry(SessionLoad(held, _config(held)), table)
        lineage = read_lineage(ctx, table)
        entry = lineage.entries.get(held.session.entry_id) if lineage else None
        if must_revert(entry):
            try:
                revert_replace(ctx, table, held.session.entry_id, force=True, actor=actor)
            except PinotAdminError as error:
                if not error.permanent:
                    raise
        _remove_unregistered(held, held.manifest.segments_to)


def _config(held: HeldSession) -> TableConfig:
    return read_table_config(held.ctx, held.table)


def _remove_unregistered(held: HeldSession, names: Sequence[str]) -> None:
    """Files that were brought to their places and never got a record."""
    ctx, table = held.ctx, held.table
    nodes = ctx.store.get_many([paths.segment(table.typed, name) for name in names])
    for name, node in zip(names, nodes, strict=True):
        if node is None:
            ctx.deep_store.delete(ctx.deep_store.segment_path(table.raw, name))
