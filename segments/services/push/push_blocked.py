"""Pushes that the table's checks stopped before the switch: finished with a reason, or closed by what became of their
lineage entry.

Such a push is BLOCKED: everything is uploaded, nothing is visible, its entry stays IN_PROGRESS. People finish or cancel
it, end or revert the entry itself, or push again, which takes the entry over; without any of these the table's
lineageEntryCleanupRetentionPeriod ends it.
"""

from __future__ import annotations

from typing import Final

from segments.domain.replacement.lineage import State
from segments.errors import StateConflict
from segments.models import Push
from segments.names import OFFLINE, TableName
from segments.services.core import audit
from segments.services.core.context import SYSTEM, Actor, Context
from segments.services.push.push_files import remove_files
from segments.services.push.push_session import Session, find_push, now
from segments.services.replacement.protocol import read_lineage

_PICKUP_S: Final = 60.0
_LONGEST_REASON: Final = 2000


def finish_push(ctx: Context, push_id: str, override: str, actor: Actor) -> Push:
    """Have the switch tried again; the caller queues the push. ``override``: the reason for which failed checks do not
    stop it.

    Without a reason the checks decide again, for example after they were changed. StateConflict unless the push is
    BLOCKED.
    """
    push = find_push(ctx, push_id)
    decided = {"override_checks": override.strip()[:_LONGEST_REASON], "override_by": actor.name}
    taken = Push.objects.filter(pk=push.pk, state=Push.State.BLOCKED).update(
        state=Push.State.QUEUED,
        attempts=0,
        error="",
        lease_owner="",
        lease_until=now(ctx, _PICKUP_S),
        plan={**push.plan, **decided},
    )
    if not taken:
        push.refresh_from_db()
        raise StateConflict(
            f"Push '{push_id}' is {push.get_state_display()} and cannot be finished.",
            remedy="Only a blocked push can.",
            state=push.state,
        )
    audit.record(
        actor,
        "finishPush",
        cluster=ctx.cluster,
        target=f"{push.table_name}_{OFFLINE}",
        push=push_id,
        entry=push.entry_id,
        overrideChecks=decided["override_checks"],
    )
    push.refresh_from_db()
    return push


def settle_blocked(ctx: Context) -> list[str]:
    """Close blocked pushes whose lineage entry is no longer IN_PROGRESS; one sentence each."""
    done = []
    for push in Push.objects.filter(cluster=ctx.cluster, state=Push.State.BLOCKED):
        lineage = read_lineage(ctx, TableName(push.table_name, OFFLINE))
        entry = lineage.entries.get(push.entry_id) if lineage else None
        if entry is not None and entry.state is State.IN_PROGRESS:
            continue
        is_done = entry is not None and entry.state is State.COMPLETED
        state = Push.State.DONE if is_done else Push.State.FAILED
        error = "" if is_done else f"{push.error} Its lineage entry was then reverted or removed."
        if not Push.objects.filter(pk=push.pk, state=Push.State.BLOCKED).update(
            state=state, error=error, finished_at=now(ctx)
        ):
            continue
        remove_files(Session(ctx, push, ""))
        outcome = "done" if is_done else "failed"
        audit.record(
            SYSTEM,
            "pushEnd",
            cluster=ctx.cluster,
            target=f"{push.table_name}_{OFFLINE}",
            outcome=outcome,
            push=str(push.pk),
            entry=push.entry_id,
            error=error,
        )
        done.append(
            f"Push {push.pk} of {push.table_name} is {state}: its lineage entry was "
            f"{'ended' if is_done else 'reverted'} elsewhere."
        )
    return done
