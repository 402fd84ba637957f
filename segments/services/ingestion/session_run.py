"""Carries a session on as far as it goes: read files, switch, done. Everything that it needs is in ZooKeeper and the
deep store, so it may stop anywhere and another process goes on.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

from segments.domain.formats.plural import counted
from segments.domain.ingestion.session import FileState, SessionState
from segments.domain.ingestion.transitions import Next, after_files
from segments.errors import Conflict, PinotAdminError, Unavailable
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.ingestion.discard import remove_leftovers
from segments.services.ingestion.files.reading import Reading
from segments.services.ingestion.held_session import HeldSession, acquire
from segments.services.ingestion.one_by_one import OneByOne
from segments.services.ingestion.session_store import prune
from segments.services.ingestion.situation import Setup, check_unchanged, read_setup
from segments.services.ingestion.switch import begin_switch, carry_out_switch, finish
from segments.services.loading.builder import Builder
from segments.services.replacement.checks.snapshot_checks import ChecksFailed

log = logging.getLogger(__name__)
_PAUSE_S: Final = 3.0
#: How long a run is continued through failures of parts of the system.
_PATIENCE_MS: Final = 3_600_000


def run_session(ctx: Context, table: TableName, session_id: str, owner: str, *, builder: Builder) -> str:
    """Do what is left of the session's run; returns one sentence. StateConflict while another runner holds it.

    Failed files, refusals and failed checks end the run, and the session waits for its next trigger. A lost part of the
    system leaves the run without a runner, for ``resume_lost``.
    """
    held = acquire(ctx, table, session_id, owner)
    if held is None:
        return f"Session {session_id} has no run under way."
    try:
        with held.heartbeat():
            if held.session.has_leftovers:
                remove_leftovers(held)
            else:
                _carry_on(held, builder)
    except PinotAdminError as error:
        return _stopped(held, error)
    except Exception as error:
        log.exception("Session %s stopped unexpectedly.", session_id)
        return _stopped(held, Unavailable(f"Unexpected {type(error).__name__}: {error}"))
    waits = f" It waits for the next trigger: {held.session.error}" if held.session.error else ""
    left = held.session.counts.deferred
    more = f" {counted(left, 'file', 'is', 'are')} left to the next trigger." if left and not waits else ""
    return f"Session {session_id} of {table} is {held.session.state}.{waits}{more}"


def _carry_on(held: HeldSession, builder: Builder) -> None:
    setup = read_setup(held.ctx, held.table)
    check_unchanged(held.session, setup)
    actor = Actor(held.session.triggered_by, f"session {held.session.id}")
    prune(held.ctx, held.table)
    while True:
        if held.session.state is not SessionState.SWITCH and not _read(held, setup, builder, actor):
            return
        if carry_out_switch(held, setup, actor) or not held.session.task:
            return


def _read(held: HeldSession, setup: Setup, builder: Builder, actor: Actor) -> bool:
    """Read all files and begin the switch; False when there is none to carry out."""
    if held.session.state is SessionState.INIT:
        held.change(state=SessionState.IN_PROGRESS)
    one_by_one = None if held.session.consistent else OneByOne(held, setup, actor)
    while True:
        Reading(held, setup, builder, one_by_one.show if one_by_one else None).read()
        if one_by_one is not None:
            one_by_one.finish()
            return False
        all_of_it = held.session.swap or setup.task.selector is not None
        outcome = after_files(held.manifest.files, held.manifest.vanished, replaces_all=all_of_it)
        if outcome.next is Next.WAIT:
            held.end_run(outcome.error)
            return False
        if outcome.next is Next.FINISH:
            finish(held, setup, actor)
            return False
        if begin_switch(held, setup):
            return True


def _stopped(held: HeldSession, error: PinotAdminError) -> str:
    """After an error: give way, wait for the next attempt, or for the next trigger."""
    session = held.session
    if held.is_lost or isinstance(error, Conflict):
        return f"Session {session.id} was left to its new runner."
    began = session.runs[-1].start_ms if session.runs else session.start_ms
    is_young = held.ctx.clock() - began < _PATIENCE_MS
    try:
        if (error.permanent or not is_young) and not session.has_leftovers:
            _reset_running(held)
            held.end_run(str(error), blocked=isinstance(error, ChecksFailed))
            return f"Session {session.id} waits for the next trigger: {error}"
        held.release(_PAUSE_S, error=str(error))
    except PinotAdminError as second:
        log.warning("Session %s could not be released: %s", session.id, second)
    return f"Session {session.id} waits for its next attempt: {error}"


def _reset_running(held: HeldSession) -> None:
    running = [f for f in held.manifest.files if f.state is FileState.RUNNING]
    if running:
        files = tuple(replace(f, state=FileState.PENDING) if f in running else f for f in held.manifest.files)
        held.save(replace(held.manifest, files=files))
