"""The one change of a lineage on a real Pinot: decided here, sent once, its outcome read in Pinot's lineage, then shown
by its brokers (rule `unknown-outcomes-are-read`, rule `acknowledged-switch`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Final

from segments.clusters.pinot.calls import Doubt, controller, quoted, settled
from segments.clusters.pinot.replacement.broker_messages import BrokerMessages, follow_messages
from segments.clusters.pinot.replacement.lineage import lineage_now
from segments.clusters.pinot.replacement.routing import MESSAGE_LOST, carried_out, expect, show, shown
from segments.clusters.pinot.segments import deletion as pinot_deletion
from segments.clusters.pinot.segments import kept_copies
from segments.domain.pinot import cleanup as pinot_cleanup
from segments.domain.replacement.lineage import Lineage, State
from segments.errors import PinotAdminError, StateConflict
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.engine.lineage import Decide, Switch, Switched
from segments.services.replacement.lineage_record import Observed, observe, with_served
from segments.services.replacement.undo.kept_entries import keep_entries
from segments.services.segments.online import live_instance_names
from segments.store import paths

log = logging.getLogger(__name__)

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
    with ThreadPoolExecutor(2, thread_name_prefix="switch") as pool:  # what brokers are asked for is read meanwhile
        messages = pool.submit(follow_messages, ctx, table, change.seen.live) if wanted.changed else None
        deleted = change.prepare(actor) if wanted.changed else []
        expected = pool.submit(expect, ctx, table, change.before, wanted.lineage, change.seen)
        brokers = _send(change, pool, messages.result()) if messages is not None else ()
    if change.wanted is not wanted:  # others changed the lineage before it could be sent
        return Switched(change.wanted, deleted, show(ctx, table, change.before, change.wanted.lineage).detail())
    found = carried_out(ctx, table, brokers, expected.result) if brokers else shown(ctx, table, expected.result)
    return Switched(wanted, deleted, found.detail())


def _send(change: _Change, pool: ThreadPoolExecutor, messages: BrokerMessages | None) -> Sequence[str]:
    """Send the change; all brokers when each has carried out the message that Pinot sent it for this, else none."""
    if messages is None:
        settled(change.send, change.find)
        return ()
    deadline = time.monotonic() + MESSAGE_LOST * change.ctx.limits.broker_ack_s
    followed = pool.submit(messages.wait, deadline)
    try:
        settled(change.send, change.find)
        messages.answered()
    except BaseException:
        messages.give_up()
        raise
    try:
        return messages.brokers if followed.result() else ()
    except PinotAdminError as error:
        log.info("The messages to the brokers of %s could not be followed: %s", change.table, error)
        return ()


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
        """What is wanted now, None: nothing. Raises why it cannot be."""
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
