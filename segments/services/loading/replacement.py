"""The replacement that shows the segments of a load at once: opened, and found again after a cut."""

from __future__ import annotations

from collections.abc import Sequence

from segments.domain.push.push_plan import Step, next_step
from segments.names import TableName
from segments.services.core.context import Actor
from segments.services.loading.load import Load
from segments.services.replacement.protocol import read_lineage, start_replace
from segments.services.replacement.start_admission import declare
from segments.spark.build_part import Built


def step_of(load: Load, table: TableName, *, started: bool) -> Step:
    """What is still to do about the load's lineage entry."""
    lineage = read_lineage(load.ctx, table)
    return next_step(lineage.entries.get(load.entry_id) if lineage else None, started=started)


def open_replacement(
    load: Load, table: TableName, old: Sequence[str], built: Sequence[Built], actor: Actor, *, cleans_up: bool
) -> None:
    """Start the replacement of ``old`` by what was built, declaring its size. The load learns the entry's id where the
    cluster names it. Repeated, it is done once. ``cleans_up``: leftovers of failed loads that are in the way are
    cleared. Raises as ``start_replace``.
    """
    names = [b.name for b in built]
    force = cleans_up and load.ctx.engine.push.start_forces_cleanup(load.ctx, load.config, old, names)
    entry_id = start_replace(
        load.ctx,
        table,
        old,
        names,
        force_cleanup=force,
        actor=actor,
        entry_id=load.entry_id,
        custom_map=declare(sum(b.size_bytes for b in built), sum(b.rows for b in built)),
    )
    if entry_id != load.entry_id:  # Pinot names its entries itself
        load.save_entry(entry_id)
