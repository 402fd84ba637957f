"""Takes back what an unfinished push did, once: its lineage entry, its staged files, and files that were never
registered.
"""

from __future__ import annotations

import logging

from segments.domain.push.push_plan import must_revert
from segments.errors import PinotAdminError
from segments.models import Push
from segments.names import OFFLINE, TableName
from segments.services.core import audit
from segments.services.core.context import Actor
from segments.services.push.push_files import remove_files
from segments.services.push.push_load import PushLoad
from segments.services.push.push_session import Session, now
from segments.services.replacement.protocol import read_lineage, revert_replace

log = logging.getLogger(__name__)


def take_back(session: Session) -> None:
    """Revert our entry if it is still open, remove files, and close the push with the error it already carries.

    Idempotent. Transient errors (Unavailable, OutcomeUnknown) leave the push at REVERT for the next attempt.
    """
    ctx, push = session.ctx, session.push
    table = TableName(push.table_name, OFFLINE)
    actor = Actor(push.plan.get("cancelled_by") or push.actor, f"push {push.pk}: {push.error}"[:2000])
    ctx.engine.push.find_entry(PushLoad(session), table)
    lineage = read_lineage(ctx, table)
    if push.plan.get("replaces") and must_revert(lineage.entries.get(push.entry_id) if lineage else None):
        try:
            revert_replace(ctx, table, push.entry_id, force=True, actor=actor)
        except PinotAdminError as error:
            if not error.permanent:
                raise
            log.warning("Lineage entry %s of push %s was not reverted: %s", push.entry_id, push.pk, error)
    remove_files(session)
    cancelled = bool(push.plan.get("cancelled"))
    session.update(state=Push.State.CANCELLED if cancelled else Push.State.FAILED, finished_at=now(ctx))
    outcome = "cancelled" if cancelled else "failed"
    audit.record(
        actor, "pushEnd", cluster=ctx.cluster, target=table.typed, outcome=outcome, push=str(push.pk), error=push.error
    )
