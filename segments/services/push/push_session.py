"""Who works on a push, and until when: a lease in the database, renewed while working; every write is conditional on
holding it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db.models import F, Q

from segments import traces
from segments.domain.formats.storable_text import without_nul
from segments.errors import Conflict, NotFound, StateConflict
from segments.models import Push
from segments.secret_texts import mask_text
from segments.services.core.context import Context
from segments.services.jobs.heartbeat import heartbeat

log = logging.getLogger(__name__)
HEARTBEAT_S: Final = 3.0
_CHECK_S: Final = 0.5


def find_push(ctx: Context, push_id: str) -> Push:
    """The push of this cluster; NotFound names the id."""
    try:
        return Push.objects.get(pk=push_id, cluster=ctx.cluster)
    except (Push.DoesNotExist, ValidationError, ValueError) as error:
        raise NotFound(f"Push '{push_id}' does not exist.", remedy="List them with GET /api/v1/pushes.") from error


def now(ctx: Context, plus_s: float = 0.0) -> datetime:
    """The clock's time, some seconds later."""
    return ctx.now() + timedelta(seconds=plus_s)


def lapsed(ctx: Context) -> Q:
    """Pushes that nobody works on."""
    return Q(lease_owner="") | Q(lease_until=None) | Q(lease_until__lt=now(ctx))


class Session:
    """A held lease. ``push`` is the row as this holder knows it; nobody else writes it while the lease lives."""

    def __init__(self, ctx: Context, push: Push, owner: str) -> None:
        self.ctx = ctx
        self.push = push
        self.owner = owner
        self.is_lost = False
        self._checked_at = 0.0

    def update(self, **fields: Any) -> None:
        """Write fields, if the lease is still ours. Conflict when it is not: stop at once and touch nothing more.

        Passwords of addresses in an error are masked, and values of files in it hold no U+0000.
        """
        if fields.get("error"):
            fields["error"] = mask_text(without_nul(fields["error"]))
        if not self._mine().update(**fields):
            self.is_lost = True
            raise Conflict(f"Push '{self.push.pk}' is in other hands now.")
        for name, value in fields.items():
            setattr(self.push, name, value)

    def save_plan(self, **entries: Any) -> None:
        """Add entries to the plan."""
        self.update(plan={**self.push.plan, **entries})

    def check(self) -> None:
        """Conflict when the lease is no longer ours; asks the database at most twice a second."""
        if self.ctx.timer.seconds() - self._checked_at < _CHECK_S and not self.is_lost:
            return
        self._checked_at = self.ctx.timer.seconds()
        if self.is_lost or not self._mine().exists():
            self.is_lost = True
            raise Conflict(f"Push '{self.push.pk}' is in other hands now.")

    def renew(self) -> None:
        """Hold it for another lease time."""
        if not self._mine().update(lease_until=now(self.ctx, self.ctx.limits.push_lease_s)):
            self.is_lost = True

    def release(self, after_s: float = 0.0, **fields: Any) -> None:
        """Let go; nobody takes it up before ``after_s`` seconds have passed."""
        self._mine().update(lease_until=now(self.ctx, after_s), **fields)

    @contextmanager
    def stage(self, stage: Push.Stage) -> Iterator[None]:
        """Enter a stage, and record the seconds it took, added to those of earlier attempts."""
        self.update(stage=stage)
        log.info("Push %s of %s: %s.", self.push.pk, self.push.table_name, stage.label)
        began = self.ctx.timer.seconds()
        with traces.step(f"stage {stage.value}"):
            yield
        spent = {**self.push.stage_seconds}
        spent[stage.value] = round(spent.get(stage.value, 0.0) + self.ctx.timer.seconds() - began, 3)
        self.update(stage_seconds=spent)

    def heartbeat(self) -> AbstractContextManager[None]:
        """Renew the lease from a thread while the block runs."""
        return heartbeat(f"push {self.push.pk}", self._renew, HEARTBEAT_S)

    def _renew(self) -> bool:
        if not self.is_lost:
            self.renew()
        return not self.is_lost

    def _mine(self) -> Any:
        return Push.objects.filter(pk=self.push.pk, lease_owner=self.owner, state=Push.State.RUNNING)


def acquire(ctx: Context, push_id: str, owner: str, attempts: int | None = None) -> Session | None:
    """Take the lease of a push that nobody works on; None when it is finished. StateConflict while somebody else holds
    it, or when there were not so many ``attempts``: a push that waits long is queued more than once, and what is left
    of that in the queue must not use up the attempts that are made with a pause between them.

    A waiting time that ``Session.release`` set does not keep a caller out: it only spaces the automatic attempts.
    """
    push = find_push(ctx, push_id)
    if push.state in Push.TERMINAL:
        return None
    if attempts is not None and push.attempts != attempts:
        raise StateConflict(f"Push '{push_id}' was taken up since it was queued for attempt {attempts + 1}.")
    free = Push.objects.filter(pk=push.pk, state__in=(Push.State.QUEUED, Push.State.RUNNING)).filter(lapsed(ctx))
    if attempts is not None:
        free = free.filter(attempts=attempts)
    taken = free.update(
        state=Push.State.RUNNING,
        lease_owner=owner,
        lease_until=now(ctx, ctx.limits.push_lease_s),
        attempts=F("attempts") + 1,
    )
    if not taken:
        raise StateConflict(
            f"Push '{push_id}' is being worked on by {push.lease_owner}.", remedy="Wait until it is done."
        )
    push.refresh_from_db()
    session = Session(ctx, push, owner)
    if push.started_at is None:
        session.update(started_at=now(ctx))
    return session


def revoke_lease(ctx: Context, push_id: str, owner: str, why: str) -> str:
    """Take the lease from a runner that does not come to an end, so that its next write fails; the push is resumed, or
    taken back after as many attempts as any. Returns a sentence.
    """
    held = Push.objects.filter(pk=push_id, lease_owner=owner, state=Push.State.RUNNING)
    if not held.update(lease_owner="", lease_until=now(ctx), error=why):
        return f"Push {push_id} has left its runner already."
    return f"Push {push_id}: {why}"
