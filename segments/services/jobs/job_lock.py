"""The lock among processes: an ephemeral znode, so that it goes with the process that dies.

Jobs, tasks, passes and uploads hold it. Three things that are held for a while are something else, and stay apart:

- the lease of a push (``push.push_session``) is a row of the database, renewed while the worker lives, and every write
  of the push is conditional on it: a worker that lost it cannot write any more;
- the lease of a replacement (``replacement.entry_lease``) belongs to a client, over any number of requests;
- the lock of passes that go on while ZooKeeper is down (``gateways.worker_board``) is in Redis and ends by time.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Conflict, OutcomeUnknown, PinotAdminError
from segments.services.core.context import Context
from segments.store import paths
from segments.store.base import Versioned

log = logging.getLogger(__name__)

_SINCE: Final = "sinceMs"
#: Seconds between two attempts to take a lock that is waited for.
_AGAIN_S: Final = 0.02
_guard = threading.Lock()
#: Tokens of the locks that threads of this process hold.
_held: set[str] = set()


@contextmanager
def sole_worker(ctx: Context, job_id: str) -> Iterator[bool]:
    """Hold the job's lock while the block runs; False when somebody else holds it, or nobody can say who does."""
    with ExitStack() as stack:
        try:
            is_ours = stack.enter_context(locked(ctx, paths.job_lock(job_id)))
        except PinotAdminError:
            is_ours = False
        yield is_ours


@contextmanager
def locked(ctx: Context, path: str, *, wait_s: float = 0.0, void_after_s: float | None = None) -> Iterator[bool]:
    """Hold the lock at ``path`` while the block runs; False when somebody else holds it for longer than ``wait_s``.

    One that is older than ``void_after_s`` is taken over. Unavailable when ZooKeeper does not answer.
    """
    mine, deadline = ZNRecord(ctx.new_id(), {_SINCE: str(ctx.clock())}), ctx.timer.seconds() + wait_s
    with _guard:
        _held.add(mine.id)
    try:
        while not (is_ours := _take(ctx, path, mine, void_after_s)) and ctx.timer.seconds() < deadline:
            ctx.timer.pause(_AGAIN_S)
        try:
            yield is_ours
        finally:
            if is_ours:
                _release(ctx, path, mine)
    finally:
        with _guard:
            _held.discard(mine.id)


def _take(ctx: Context, path: str, mine: ZNRecord, void_after_s: float | None) -> bool:
    """One attempt. True, too, when the reply was lost but the lock is ours; one that nobody holds any more is removed
    for the next attempt.
    """
    try:
        ctx.store.create(path, mine, ephemeral=True)
        return True
    except (Conflict, OutcomeUnknown):
        found = ctx.store.get(path)
    if found is None or found.record is None:
        return False
    if found.record.id != mine.id and _is_void(ctx, found, found.record, void_after_s):
        try:
            ctx.store.delete(path, found.version)
        except Conflict:
            log.info("The lock %s is held again already.", path)
    return found.record.id == mine.id


def _is_void(ctx: Context, found: Versioned, record: ZNRecord, void_after_s: float | None) -> bool:
    """Did this very session leave it without a holder, or did it outlive its time?"""
    with _guard:
        is_left = record.id not in _held and found.owner == int(ctx.store.session_id(), 16)
    since_ms = int(record.simple.get(_SINCE, "0"))
    return is_left or (void_after_s is not None and ctx.clock() - since_ms > void_after_s * 1000)


def _release(ctx: Context, path: str, mine: ZNRecord) -> None:
    """Remove the lock, unless somebody took it over meanwhile: then it is theirs."""
    try:
        found = ctx.store.get(path)
        if found is None or found.record is None or found.record.id != mine.id:
            log.warning("The lock %s was taken over while its holder still worked.", path)
            return
        ctx.store.delete(path, found.version)
    except PinotAdminError as error:
        log.warning(
            "The lock %s could not be removed now; the next attempt to take it or the session's end does: %s",
            path,
            error,
        )
