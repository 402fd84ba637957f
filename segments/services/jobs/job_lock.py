"""Held by whoever carries a background job on: an ephemeral znode, so that it goes with the process that dies."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Conflict, OutcomeUnknown, PinotAdminError, Unavailable
from segments.services.core.context import Context
from segments.store import paths

log = logging.getLogger(__name__)

_guard = threading.Lock()
#: Tokens of the locks that threads of this process hold.
_held: set[str] = set()


@contextmanager
def sole_worker(ctx: Context, job_id: str) -> Iterator[bool]:
    """Hold the job's lock while the block runs; False when somebody else holds it, or it can not be told who does."""
    path, token = paths.job_lock(job_id), ctx.new_id()
    with _guard:
        _held.add(token)
    try:
        is_ours = _take(ctx, path, token)
        try:
            yield is_ours
        finally:
            if is_ours:
                _release(ctx, path)
    finally:
        with _guard:
            _held.discard(token)


def _take(ctx: Context, path: str, token: str) -> bool:
    try:
        ctx.store.create(path, ZNRecord(token), ephemeral=True)
        return True
    except Unavailable:
        return False
    except (Conflict, OutcomeUnknown):
        return _is_ours_or_left(ctx, path, token)


def _is_ours_or_left(ctx: Context, path: str, token: str) -> bool:
    """True when the reply was lost but the lock is ours. One that this very session left without a holder is removed
    for the next look.
    """
    try:
        found = ctx.store.get(path)
        if found is None or found.record is None:
            return False
        if found.record.id == token:
            return True
        with _guard:
            is_left = found.owner == int(ctx.store.session_id(), 16) and found.record.id not in _held
        if is_left:
            ctx.store.delete(path, found.version)
    except PinotAdminError:
        return False
    return False


def _release(ctx: Context, path: str) -> None:
    try:
        ctx.store.delete(path)
    except PinotAdminError as error:
        log.warning(
            "The lock %s could not be removed now; the next look removes it, or the session's end: %s", path, error
        )
