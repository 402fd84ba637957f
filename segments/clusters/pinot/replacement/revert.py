"""Revert of replacements on a real Pinot: decided as on our own cluster, copies kept if asked for, Pinot's switch, then
its brokers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from segments.clusters.pinot.calls import Doubt, controller, quoted, settled
from segments.clusters.pinot.replacement.lineage import lineage_now
from segments.clusters.pinot.replacement.routing import show
from segments.clusters.pinot.segments import kept_copies as pinot_kept
from segments.domain.pinot import cleanup as pinot_cleanup
from segments.domain.replacement import decisions as replacement
from segments.domain.replacement.lineage import Entry, State
from segments.errors import StateConflict
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.replacement.loading import once_loaded
from segments.services.replacement.lost_links import newer_strangers
from segments.services.replacement.undo.past_entries import keep_entries
from segments.services.segments.online import live_instance_names, served_by
from segments.store import paths

_TOLD: Final = 100
#: Seconds for Pinot's part.
_ANSWER_S: Final = 60.0


def revert_replace(
    ctx: Context,
    table: TableName,
    entry_id: str,
    *,
    force: bool,
    actor: Actor,
    still: Callable[[Entry], bool] | None = None,
    action: str = "revertReplaceSegments",
    keep: bool = True,
    **detail: Any,
) -> bool:
    """Have Pinot go back to the old side, wait until its brokers do; its new side is deleted by Pinot at once.

    ``still``: only while this holds for the entry; False is returned when it did not. ``keep``: copies of the new side,
    if the table asks for them. A ``to`` in ``detail`` is the entry that a rollback over several was asked for. Raises
    as ``replacement.revert_replace``.
    """
    revert = _Revert(ctx, table, entry_id, force, actor, still, keep, rollback=str(detail.get("to", "")))
    try:
        once_loaded(ctx, table, revert.run)
    except StateConflict:
        _show_again(ctx, table, entry_id)
        raise
    if not revert.is_done:
        return False
    seen, entry = revert.seen[0], revert.entry
    done = replace(entry, state=State.REVERTED, timestamp_ms=ctx.clock())
    shown = show(ctx, table, seen.lineage, seen.lineage.having(done))
    deleted = [s for s in entry.segments_to if s in seen.ideal.maps]
    audit.record(
        actor, action, cluster=ctx.cluster, target=table.typed, entry=entry_id, changed=True, deleted=deleted[:_TOLD],
        countDeleted=len(deleted), forceRevert=force, **shown.detail(), **detail,
    )  # fmt: skip
    return True


def _show_again(ctx: Context, table: TableName, entry_id: str) -> None:
    """Of an entry that was reverted already: the message to the brokers may have been lost with the answer that is
    asked for again.
    """
    lineage = observe(ctx, table).lineage
    found = lineage.entries.get(entry_id)
    if found is not None and found.state is State.REVERTED:
        show(ctx, table, lineage.having(replace(found, state=State.COMPLETED)), lineage)


@dataclass
class _Revert:
    """One revert; decided afresh before every request. ``seen`` is what it was decided from."""

    ctx: Context
    table: TableName
    entry_id: str
    force: bool
    actor: Actor
    still: Callable[[Entry], bool] | None
    keep: bool = True
    rollback: str = ""
    seen: list[Observed] = field(default_factory=list)
    is_done: bool = False

    @property
    def entry(self) -> Entry:
        """The entry before the revert."""
        return self.seen[0].lineage.entry(self.entry_id)

    def run(self) -> None:
        """Until Pinot has it; nothing when ``still`` does not hold."""
        if not self._decide():
            return
        if self.keep:
            pinot_kept.keep_before(self.ctx, self.table, self.entry.segments_to, self.actor, config=self.seen[0].config)
            # Written before it is sent: as long as Pinot's lineage says otherwise, that counts.
            keep_entries(self.ctx, self.table, [self.entry.reverted(self.ctx.clock(), rollback=self.rollback)])
        self.is_done = settled(self._send, self._look)

    def _decide(self) -> bool:
        """Is it still wanted? Raises why it can not be."""
        ctx, table = self.ctx, self.table
        live = live_instance_names(ctx)
        seen = observe(ctx, table, paths.external_view(table.typed))
        entry = seen.lineage.entry(self.entry_id)
        if self.still is not None and not self.still(entry):
            return False
        rows = served_by(live, seen.more[0], seen.ideal.maps)
        strangers = [] if self.force else newer_strangers(ctx, table, seen, self.entry_id)
        replacement.revert(
            seen.lineage, self.entry_id, force=self.force, ideal=rows, now_ms=ctx.clock(), strangers=strangers
        )
        pinot_cleanup.check_revert(entry)
        self.seen[:] = [seen]
        return True

    def _send(self) -> bool:
        params = {"type": self.table.type, "segmentLineageEntryId": self.entry_id, "forceRevert": self.force}
        path = f"/segments/{quoted(self.table.raw)}/revertReplaceSegments"
        controller(self.ctx).send("POST", path, params, timeout=_ANSWER_S)
        return True

    def _look(self, doubt: Doubt) -> bool | None:
        if lineage_now(self.ctx, self.table).entry(self.entry_id).state is State.REVERTED:
            return True
        if not self._decide():
            text = f"Lineage entry '{self.entry_id}' changed while it was being reverted."
            raise StateConflict(text, remedy="Look at the entry.", entry=self.entry_id)
        return None
