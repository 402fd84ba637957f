"""Sessions whose switch the table's checks refused: switched all the same with a reason, checked again, or carried on
because somebody ended their lineage entry.

Such a session is blocked: everything is built and registered, nothing is visible, its entry stays IN_PROGRESS.
"""

from __future__ import annotations

from typing import Final

from segments.domain.ingestion.session import IngestionSession, SessionState
from segments.domain.replacement.lineage import State
from segments.errors import Conflict, NotFound, StateConflict
from segments.names import TableName, shown
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.ingestion.held_session import next_run
from segments.services.ingestion.session_store import change_session, find_session
from segments.services.jobs.queue import enqueue_session
from segments.services.replacement.protocol import read_lineage

_LONGEST_REASON: Final = 2000


def finish_blocked(ctx: Context, table: TableName, session_id: str, override: str, actor: Actor) -> IngestionSession:
    """Have the switch of a blocked session tried again, and hand it to the workers. ``override``: the reason for which
    failed checks do not stop it.

    Without a reason the checks decide again, for example after they were changed. It is not a retry: nobody waits for
    the schedule, and none is used up. NotFound for a session that ZooKeeper has not, StateConflict unless it is
    blocked.
    """
    if find_session(ctx, table, session_id) is None:
        raise NotFound(f"Table '{table}' has no session '{shown(session_id)}'.", remedy="List its sessions.")
    reason = override.strip()[:_LONGEST_REASON]

    def decided(now: IngestionSession) -> IngestionSession:
        if not (now.is_open and now.blocked and not now.task):
            raise StateConflict(
                f"Session '{session_id}' is {_state(now)} and is not blocked by checks.",
                remedy="Only a blocked session can be finished.",
                state=now.state.value,
            )
        by = actor.name if reason else ""
        return now.changed(ctx.clock(), **next_run(now, ctx.clock()), override=reason, override_by=by)

    session = change_session(ctx, table, session_id, decided)
    audit.record(
        actor, "finishIngestionSession", cluster=ctx.cluster, target=table.typed, session=session_id,
        entry=session.entry_id, overrideChecks=reason,
    )  # fmt: skip
    enqueue_session(ctx, table.typed, session_id)
    return session


def settle_switched(ctx: Context, table: TableName, session: IngestionSession) -> bool:
    """Carry on a waiting session whose lineage entry somebody ended: queries see it, and nobody wrote that down."""
    if not is_switched(ctx, table, session):
        return False

    def go_on(now: IngestionSession) -> IngestionSession:
        if (now.is_open, now.task, now.state) != (True, "", SessionState.SWITCH):
            raise Conflict(f"Session '{session.id}' was changed by somebody else.")
        return now.changed(ctx.clock(), **next_run(now, ctx.clock()))

    try:
        change_session(ctx, table, session.id, go_on)
    except Conflict:
        return False
    enqueue_session(ctx, table.typed, session.id)
    return True


def is_switched(ctx: Context, table: TableName, session: IngestionSession) -> bool:
    """Do queries see the session's segments, though nobody wrote that down yet?"""
    if not session.is_open or session.task or session.state is not SessionState.SWITCH:
        return False
    lineage = read_lineage(ctx, table)
    entry = lineage.entries.get(session.entry_id) if lineage else None
    return entry is not None and entry.state is State.COMPLETED


def _state(session: IngestionSession) -> str:
    return session.end_reason or (f"{session.state}, at work" if session.task else session.state)
