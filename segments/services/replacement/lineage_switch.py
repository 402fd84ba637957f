"""One change of a lineage that switches queries back: decided afresh in every attempt, acknowledged by brokers, then
deletion, then audit.

For changes that the protocol itself does not know: the reaper's revert and a rollback over several entries.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from segments.domain.replacement.lineage import Lineage
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.replacement.acknowledgement import wait_for_brokers
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.segments import deletion
from segments.store import paths
from segments.store.base import Check, Write
from segments.store.update import update_transaction

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Switch:
    """The lineage to write, hidden segments that go once brokers have acknowledged it, and what the
    audit record tells.
    """

    lineage: Lineage
    delete: Sequence[str]
    detail: dict[str, Any] = field(default_factory=dict)


def apply_switch(
    ctx: Context, table: TableName, action: str, actor: Actor, decide: Callable[[Observed], Switch | None]
) -> Switch | None:
    """Write what ``decide`` says of the state of this moment (None: nothing), and finish it. Raises what ``decide``
    raises.

    Lineage is written on the version read and only while the ideal state is the one that was read. What can not be
    deleted now, because a broker is behind or this process dies, is left to the retention pass: the entries' new state
    says that it is to go.
    """
    decided: list[Switch] = []

    def attempt() -> Sequence[Write] | None:
        decided.clear()
        seen = observe(ctx, table)
        switch = decide(seen)
        if switch is None:
            return None
        decided.append(switch)
        return [seen.write_lineage(switch.lineage), Check(paths.ideal_state(table.typed), seen.ideal_version)]

    committed = update_transaction(ctx.store, attempt)
    if not committed.changed:
        return None
    switch = decided[0]
    behind = wait_for_brokers(ctx, table)
    if behind:
        log.warning(
            "Brokers %s did not acknowledge the lineage of %s in time; deletion is left to retention.", behind, table
        )
    deleted = deletion.remove_hidden(ctx, table, switch.delete) if switch.delete and not behind else []
    audit.record(
        actor,
        action,
        cluster=ctx.cluster,
        target=table.typed,
        deleted=deleted[:100],
        brokersBehind=behind,
        **switch.detail,
    )
    return switch
