"""Takes back what an unfinished push did, once: its lineage entry, its staged files, and files that were never
registered.
"""

from __future__ import annotations

import logging

from segments.clusters.pinot import push as pinot_push
from segments.domain.push.push_plan import must_revert
from segments.domain.segments import segment_metadata
from segments.errors import PinotAdminError
from segments.gateways.deep_store.deepstore import STAGING
from segments.models import Push
from segments.names import OFFLINE, TableName
from segments.services.core import audit
from segments.services.core.context import Actor
from segments.services.push.push_session import Session, now
from segments.services.replacement.protocol import read_lineage, revert_replace
from segments.services.segments.upload_files import staged_path
from segments.store import paths

log = logging.getLogger(__name__)


def take_back(session: Session) -> None:
    """Revert our entry if it is still open, remove files, and close the push with the error it already carries.

    Idempotent. Transient errors (Unavailable, OutcomeUnknown) leave the push at REVERT for the next attempt.
    """
    ctx, push = session.ctx, session.push
    table, actor = TableName(push.table_name, OFFLINE), Actor(push.actor, f"push {push.pk}: {push.error}"[:2000])
    if ctx.pinot is not None:
        pinot_push.find_entry(session, table)
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


def remove_files(session: Session) -> None:
    """Delete the push's staging folder, and tars in place that no segment record speaks of."""
    ctx, push = session.ctx, session.push
    ctx.deep_store.delete_folder(f"{STAGING}/{push.pk}")
    table = TableName(push.table_name, OFFLINE)
    for segment in push.segments.exclude(uri=""):
        node = ctx.store.get(paths.segment(table.typed, segment.name))
        on_record = segment_metadata.from_record(node.record).crc if node and node.record else None
        if on_record is None:
            ctx.deep_store.delete(ctx.deep_store.segment_path(table.raw, segment.name))
        if segment.crc is not None and (on_record != segment.crc or ctx.deep_store.local_root is not None):
            ctx.deep_store.delete(staged_path(ctx, table, segment.name, segment.crc))
