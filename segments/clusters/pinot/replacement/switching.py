"""The one change of a lineage on a real Pinot: decided here, sent once, its outcome read in Pinot's lineage, then shown
by its brokers (rule `unknown-outcomes-are-read`, rule `acknowledged-switch`).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Final

from segments.clusters.pinot.calls import Doubt, controller, quoted, settled
from segments.clusters.pinot.replacement.lineage import lineage_now
from segments.clusters.pinot.replacement.routing import expect, show, shown
from segments.clusters.pinot.segments import deletion as pinot_deletion
from segments.clusters.pinot.segments import kept_copies
from segments.domain.pinot import cleanup as pinot_cleanup
from segments.domain.replacement.lineage import Lineage, State
from segments.errors import StateConflict
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.engine.lineage import Decide, Switch, Switched
from segments.services.replacement.lineage_record import Observed, observe, with_served
from segments.services.replacement.undo.kept_entries import keep_entries
from segments.services.segments.online import live_instance_names
from segments.store import paths

#: Seconds for Pinot's part: what it waits for is there before it is sent.
_ANSWER_S: Final = 60.0
_CALLS: Final = {State.COMPLETED: "endReplaceSegments", State.REVERTED: "revertReplaceSegments"}


def switch(ctx: Context, table: TableName, decide: Decide, actor: Actor, *, served: bool = False) -> Switched | None:
    """As ``LineageEngine.switch``. What was switched before is shown again: the message to the brokers may have been
    lost with the answer that the caller misses.
    """
    change = _Change(ctx, table, decide, served)
    try:
        wanted = change.decide()
    except StateConflict as error:
        _show_again(ctx, table, str(error.data.get("entry", "")))
        raise
    if wanted is None:
        return None
    deleted = change.prepare(actor) if wanted.changed else []
    with ThreadPoolExecutor(1, thread_name_prefix="switch") as pool:  # what to ask brokers for is read meanwhile
        expected = pool.submit(expect, ctx, table, change.before, wanted.lineage, change.seen)
        if wanted.changed:
            settled(change.send, change.find)
    if change.wanted is not wanted:  # others changed the lineage before it could be sent
        return Switched(change.wanted, deleted, show(ctx, table, change.before, change.wanted.lineage).detail())
    return Switched(wanted, deleted, shown(ctx, table, expected.result).detail())


@dataclass
class _Change:
    """One change; decided again before every request. ``seen`` is what ``wanted`` was decided from."""

    ctx: Context
    table: TableName
    decision: Decide
    served: bool
    seen: Observed = field(init=False)
    wanted: Switch = field(init=False)

    @property
    def before(self) -> Lineage:
        """The lineage before the switch, also where it was made earlier."""
        lineage = self.seen.lineage
        return lineage if self.wanted.changed else lineage.having(replace(self.wanted.entry, state=State.IN_PROGRESS))

    def decide(self) -> Switch | None:
        """What is wanted now, None: nothing. Raises why it can not be."""
        seen = _observe_served(self.ctx, self.table) if self.served else observe(self.ctx, self.table)
        wanted = self.decision(seen)
        if wanted is not None:
            if wanted.entry.state is State.REVERTED:
                pinot_cleanup.check_revert(wanted.entry)
            self.seen, self.wanted = seen, wanted
        return wanted

    def prepare(self, actor: Actor) -> list[str]:
        """What must be done before it is sent; the segments that go with the switch."""
        ctx, table, wanted = self.ctx, self.table, self.wanted
        if wanted.entry.state is State.COMPLETED:
            if wanted.remove_now:  # queries would see them after the end, and now they do not
                pinot_deletion.delete_hidden(ctx, table, wanted.remove_now)
            return list(wanted.remove_now)
        if wanted.keeps_copies:
            kept_copies.keep_before(ctx, table, wanted.entry.segments_to, actor, config=self.seen.config)
            # Written before it is sent: as long as Pinot's lineage says otherwise, that counts.
            keep_entries(ctx, table, [wanted.entry])
        return [s for s in wanted.entry.segments_to if s in self.seen.ideal.maps]

    def send(self) -> bool:
        """The call for the entry's new state."""
        wanted, before = self.wanted, self.seen.lineage.entry(self.wanted.entry.id)
        params: dict[str, Any] = {"type": self.table.type, "segmentLineageEntryId": wanted.entry.id}
        body: dict[str, Any] | None = None
        if wanted.entry.state is State.COMPLETED:
            params["cleanup"] = False
            if wanted.entry.segments_to != before.segments_to:
                body = {"segmentsTo": list(wanted.entry.segments_to)}
        else:
            params["forceRevert"] = wanted.force
        path = f"/segments/{quoted(self.table.raw)}/{_CALLS[wanted.entry.state]}"
        controller(self.ctx).send("POST", path, params, body, timeout=_ANSWER_S)
        return True

    def find(self, doubt: Doubt) -> bool | None:
        """Has Pinot made the change? None: it has not, and it is still wanted."""
        entry = self.wanted.entry
        if lineage_now(self.ctx, self.table).entry(entry.id).state is entry.state:
            return True
        if self.decide() is None:
            text = f"Lineage entry '{entry.id}' changed while it was being switched."
            raise StateConflict(text, remedy="Check the entry, then try again.", entry=entry.id)
        return None


def _observe_served(ctx: Context, table: TableName) -> Observed:
    """As ``observe_served``, with both reads of the controller at once."""
    with ThreadPoolExecutor(1, thread_name_prefix="live") as pool:
        live = pool.submit(live_instance_names, ctx)
        seen = observe(ctx, table, paths.external_view(table.typed))
        return with_served(live.result(), seen)


def _show_again(ctx: Context, table: TableName, entry_id: str) -> None:
    lineage: Lineage = observe(ctx, table).lineage
    found = lineage.entries.get(entry_id)
    if found is not None and found.state is State.REVERTED:
        show(ctx, table, lineage.having(replace(found, state=State.COMPLETED)), lineage)
