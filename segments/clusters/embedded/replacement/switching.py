"""The one change of a lineage: a transaction decided again in every attempt, acknowledged by brokers, then deletion
(rule `acknowledged-switch`, rule `deletion-last`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from segments import traces
from segments.clusters.embedded.replacement.acknowledgement import wait_for_brokers
from segments.clusters.embedded.segments import leaving
from segments.clusters.embedded.segments.deletion_queue import queue_write
from segments.domain.segments import ideal_state
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.engine.lineage import Decide, Switch, Switched
from segments.services.replacement.lineage_record import Observed, observe, observe_served
from segments.store import paths
from segments.store.base import Check, Replace, Write
from segments.store.update import update_transaction

log = logging.getLogger(__name__)


def switch(ctx: Context, table: TableName, decide: Decide, *, served: bool = False) -> Switched | None:
    """As ``LineageEngine.switch``. Deletion that is left out, because a broker is behind or this process dies, is done
    by the retention pass: the new states of the entries say what is to go.
    """
    decided: list[Switch] = []

    def attempt() -> Sequence[Write] | None:
        decided.clear()
        seen = observe_served(ctx, table) if served else observe(ctx, table)
        wanted = decide(seen)
        if wanted is None:
            return None
        decided.append(wanted)
        return [*lineage_writes(ctx, seen, wanted), *wanted.conditions] if wanted.changed else None

    update_transaction(ctx.store, attempt, turn=table.typed)
    return _acknowledged(ctx, table, decided[0]) if decided else None


def lineage_writes(ctx: Context, seen: Observed, wanted: Switch) -> list[Write]:
    """Lineage and ideal state in one transaction; ``remove_now`` goes into the durable deletion queue with it."""
    path, leaving = paths.ideal_state(seen.table.typed), wanted.remove_now
    writes = [seen.write_lineage(wanted.lineage)]
    if not leaving:
        return [*writes, Check(path, seen.ideal_version)]
    without = ideal_state.without_rows(seen.ideal, leaving)
    queue = queue_write(ctx, seen.table, leaving, retention=None, rows=seen.ideal.maps)
    return [*writes, Replace(path, without, seen.ideal_version), queue]


def _acknowledged(ctx: Context, table: TableName, done: Switch) -> Switched:
    with traces.step("wait for brokers"):
        behind = wait_for_brokers(ctx, table)
    if behind:
        log.warning(
            "Brokers %s did not acknowledge lineage entry %s of %s in time; deletion is left to retention.",
            behind,
            done.entry.id,
            table,
        )
    removed = leaving.remove_hidden(ctx, table, done.delete) if done.delete and not behind else []
    return Switched(done, [*done.remove_now, *removed], {"brokersBehind": behind})
