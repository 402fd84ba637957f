"""Replacements: the lineage of a table and the switches of queries between its sides, on the embedded cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from segments.clusters.embedded.replacement import rollback, start, switch_back, switching, undo
from segments.domain.formats.plural import counted
from segments.domain.replacement.lineage import Entry, State
from segments.domain.replacement.rollback import RollbackPlan
from segments.domain.replacement.stepwise_rollback import StepwiseRollback
from segments.domain.tables.table_config import TableConfig
from segments.domain.upkeep.retention import CleanUps
from segments.errors import NotFound
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.engine.lineage import BroughtBack, Decide, Return, RolledBack, Start, Started, Switched, Undone
from segments.services.replacement.lineage_record import Observed
from segments.services.upkeep.schedules import RETENTION, next_run_ms
from segments.store import paths


class EmbeddedLineageEngine:
    """``segments.services.engine.lineage.LineageEngine`` on the embedded cluster."""

    owns_record = True
    retention = "The retention pass"

    def start(self, ctx: Context, table: TableName, asked: Start) -> Started:
        return start.start(ctx, table, asked)

    def switch(
        self, ctx: Context, table: TableName, decide: Decide, actor: Actor, *, served: bool = False
    ) -> Switched | None:
        return switching.switch(ctx, table, decide, served=served)

    def watch(self, ctx: Context) -> Callable[[], None]:
        return lambda: None

    def limited(self, plan: RollbackPlan, served: Mapping[str, bool]) -> RollbackPlan:
        return plan

    def rollback_notes(self, plan: RollbackPlan) -> list[str]:
        return []

    def roll_back(self, ctx: Context, table: TableName, target: str, *, force: bool, actor: Actor) -> RolledBack:
        return rollback.roll_back(ctx, table, target, force=force, actor=actor)

    def rollback_on_record(self, ctx: Context, table: TableName) -> StepwiseRollback | None:
        return None

    def continue_rollback(self, ctx: Context, table: TableName, actor: Actor) -> StepwiseRollback:
        raise _none_under_way(table)

    def give_up_rollback(self, ctx: Context, table: TableName, actor: Actor) -> StepwiseRollback:
        raise _none_under_way(table)

    def resume_rollbacks(self, ctx: Context) -> list[str]:
        return []

    def undo(self, ctx: Context, table: TableName, entry_id: str, *, force: bool, actor: Actor) -> Undone:
        return undo.undo(ctx, table, entry_id, force=force, actor=actor)

    def bring_back(self, ctx: Context, table: TableName, back: Return, actor: Actor) -> BroughtBack:
        return switch_back.bring_back(ctx, table, back, actor)

    def require_bring_back(self) -> None:
        return None

    def rollback_until_ms(self, ctx: Context, seen: Observed, entry: Entry, config: TableConfig) -> int | None:
        next_run = next_run_ms(RETENTION)
        clean_ups = CleanUps(seen.lineage, config, seen.ideal.maps)
        return clean_ups.rollback_deadline_ms(entry, ctx.clock(), next_run)

    def keeps_deleted(self, ctx: Context, config: TableConfig) -> bool:
        return True

    def warnings(self, ctx: Context, entry: Entry, config: TableConfig) -> list[str]:
        return []

    def clean_up(self, ctx: Context, seen: Observed, entry: Entry, config: TableConfig) -> list[tuple[str, int | None]]:
        due = CleanUps(seen.lineage, config, seen.ideal.maps).touched_from_ms(entry, ctx.clock())
        if entry.state is State.IN_PROGRESS or due is None:
            return []
        run = next_run_ms(RETENTION)
        left = sum(1 for s in entry.hides if s in seen.ideal.maps)
        what = f"removes {counted(left, 'segment')}, and in its next run the entry" if left else "drops the entry"
        return [(f"The retention pass {what}.", None if run is None else max(run, due))]

    def tables_with_open_entries(self, ctx: Context) -> list[str]:
        return ctx.store.children(paths.LINEAGE)

    def tidy(self, ctx: Context, table: TableName) -> list[str]:
        return []


def _none_under_way(table: TableName) -> NotFound:
    text = f"No rollback of table '{table}' is under way."
    return NotFound(text, remedy="On this cluster a rollback is one switch, which never stops halfway.")
