"""Replacements: the lineage of a table and the switches of queries between its sides, on a real Pinot."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from segments.clusters.pinot.calls import Answering, controller, version
from segments.clusters.pinot.passes import tables_with_open_entries
from segments.clusters.pinot.replacement import reaper, rollback, start, switching, undo
from segments.clusters.pinot.segments.kept_copies import keeps_copies
from segments.domain.pinot import cleanup
from segments.domain.replacement.lineage import Entry
from segments.domain.replacement.rollback import RollbackPlan
from segments.domain.replacement.stepwise_rollback import StepwiseRollback
from segments.domain.tables.table_config import TableConfig
from segments.errors import StateConflict
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.engine.lineage import BroughtBack, Decide, Return, RolledBack, Start, Started, Switched, Undone
from segments.services.replacement.lineage_record import Observed


class PinotLineageEngine:
    """``segments.services.engine.lineage.LineageEngine`` on a real Pinot."""

    owns_record = False
    retention = "Pinot's own retention"

    def start(self, ctx: Context, table: TableName, asked: Start) -> Started:
        return start.start(ctx, table, asked)

    def switch(
        self, ctx: Context, table: TableName, decide: Decide, actor: Actor, *, served: bool = False
    ) -> Switched | None:
        return switching.switch(ctx, table, decide, actor, served=served)

    def watch(self, ctx: Context) -> Callable[[], None]:
        return Answering(controller(ctx)).require

    def limited(self, plan: RollbackPlan, served: Mapping[str, bool]) -> RollbackPlan:
        return rollback.limited(plan, served)

    def rollback_notes(self, plan: RollbackPlan) -> list[str]:
        return rollback.notes_of(plan)

    def roll_back(self, ctx: Context, table: TableName, target: str, *, force: bool, actor: Actor) -> RolledBack:
        return rollback.roll_back(ctx, table, target, force=force, actor=actor)

    def rollback_on_record(self, ctx: Context, table: TableName) -> StepwiseRollback | None:
        return rollback.read_rollback(ctx, table)

    def continue_rollback(self, ctx: Context, table: TableName, actor: Actor) -> StepwiseRollback:
        return rollback.advance(ctx, table, actor=actor)

    def give_up_rollback(self, ctx: Context, table: TableName, actor: Actor) -> StepwiseRollback:
        return rollback.give_up(ctx, table, actor)

    def resume_rollbacks(self, ctx: Context) -> list[str]:
        return rollback.resume_all(ctx)

    def undo(self, ctx: Context, table: TableName, entry_id: str, *, force: bool, actor: Actor) -> Undone:
        return undo.undo(ctx, table, entry_id, force=force, actor=actor)

    def bring_back(self, ctx: Context, table: TableName, back: Return, actor: Actor) -> BroughtBack:
        raise _no_way_back()

    def require_bring_back(self) -> None:
        raise _no_way_back()

    def rollback_until_ms(self, ctx: Context, seen: Observed, entry: Entry, config: TableConfig) -> int | None:
        return cleanup.rollback_until_ms(entry, config, version(ctx))

    def keeps_deleted(self, ctx: Context, config: TableConfig) -> bool:
        return keeps_copies(config)

    def warnings(self, ctx: Context, entry: Entry, config: TableConfig) -> list[str]:
        return cleanup.warnings(entry, config, version(ctx))

    def clean_up(self, ctx: Context, seen: Observed, entry: Entry, config: TableConfig) -> list[tuple[str, int | None]]:
        return [(sentence, None) for sentence in self.warnings(ctx, entry, config)]

    def tables_with_open_entries(self, ctx: Context) -> list[str]:
        return tables_with_open_entries(ctx)

    def tidy(self, ctx: Context, table: TableName) -> list[str]:
        return reaper.tidy(ctx, table)


def _no_way_back() -> StateConflict:
    text = "On a Pinot cluster deleted segments come back as a switch only by the undo of a rollback."
    return StateConflict(text, remedy="Undo the rollback, or push the data again.")
