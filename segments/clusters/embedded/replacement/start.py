"""Start of a replacement: the entry and the removal of what failed pushes left, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from segments.clusters.embedded.replacement.acknowledgement import wait_for_brokers
from segments.clusters.embedded.replacement.switching import lineage_writes
from segments.domain.replacement import decisions as replacement
from segments.domain.replacement.decisions import Decision
from segments.domain.replacement.lineage import Lineage, State
from segments.domain.tables.keyed_tables import is_keyed
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput, StateConflict
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.engine.lineage import Start, Started, Switch
from segments.services.replacement.lineage_record import observe
from segments.store.base import Write
from segments.store.update import update_transaction


def start(ctx: Context, table: TableName, asked: Start) -> Started:
    """As ``LineageEngine.start``. Nothing is acknowledged: no query sees a difference."""
    new_id = asked.entry_id or ctx.new_id()
    decided: list[Decision] = []

    def attempt() -> Sequence[Write] | None:
        seen = observe(ctx, table)
        _check_rows_stand_alone(seen.config, table)
        if new_id in seen.lineage.entries:
            return None
        decision = replacement.start(
            seen.lineage, asked.wanted, entry_id=new_id, ideal=seen.ideal.maps, now_ms=ctx.clock()
        )
        asked.admit(seen, decision.lineage.having(without=[new_id]), decision.delete)
        decision = _without_what_brokers_need(ctx, table, seen.lineage, decision)
        decided[:] = [decision]
        return lineage_writes(ctx, seen, Switch(decision.lineage, decision.entry, remove_now=decision.delete))

    update_transaction(ctx.store, attempt, turn=table.typed)
    return Started(new_id, decided[0].delete if decided else ())


def _check_rows_stand_alone(config: TableConfig | None, table: TableName) -> None:
    """A segment that is hidden would still hide rows of others. Raises InvalidInput."""
    if config is not None and is_keyed(config):
        raise InvalidInput(
            f"Segments of upsert or dedup table '{table}' cannot be replaced: its rows decide about one another.",
            remedy="Send the rows to the stream.",
        )


def _without_what_brokers_need(ctx: Context, table: TableName, before: Lineage, decision: Decision) -> Decision:
    """Segments of a push that was reverted a moment ago stay while a broker still answers from them; retention takes
    them then.

    Raises StateConflict when the new push wants one of their names. Segments of pushes that never ended no query saw.
    """
    reverted = {s for e in before.entries.values() if e.state is State.REVERTED for s in e.segments_to}.intersection(
        decision.delete
    )
    if not reverted or not (behind := wait_for_brokers(ctx, table)):
        return decision
    wanted = sorted(reverted.intersection(decision.entry.segments_to))
    if wanted:
        raise StateConflict(
            f"Segment '{wanted[0]}' of table '{table}' was taken back a moment ago and broker {behind[0]} still "
            "answers from it.",
            remedy="Try again in a few seconds, or give new segments new names.",
            segments=wanted,
        )
    return replace(decision, delete=tuple(s for s in decision.delete if s not in reverted))
