"""Revert of an unfinished replacement that nobody carries on."""

from __future__ import annotations

from collections.abc import Callable

from segments.domain.replacement import decisions as replacement
from segments.domain.replacement.lineage import Entry, State
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import SYSTEM, Actor, Context
from segments.services.engine.lineage import Switch, switch_of
from segments.services.replacement.lineage_record import Observed
from segments.services.replacement.protocol import switch_detail


def give_up(ctx: Context, table: TableName, entry_id: str, why: str, still: Callable[[Entry], bool]) -> str | None:
    """Revert the entry if it is IN_PROGRESS and ``still`` holds for it at the moment of the change; a sentence, None
    when that is no longer so.
    """

    def decide(seen: Observed) -> Switch | None:
        entry = seen.lineage.entries.get(entry_id)
        if entry is None or entry.state is not State.IN_PROGRESS or not still(entry):
            return None
        decision = replacement.revert(seen.lineage, entry_id, force=True, ideal=seen.served, now_ms=ctx.clock())
        return switch_of(decision, force=True)

    actor = Actor(SYSTEM.name, why)
    done = ctx.engine.lineage.switch(ctx, table, decide, actor, served=True)
    if done is None:
        return None
    detail = {"entry": entry_id, "why": why, "forceRevert": True, **switch_detail(done)}
    audit.record(actor, "reapEntry", cluster=ctx.cluster, target=table.typed, **detail)
    return f"Reverted lineage entry {entry_id} of {table}: {why}."
