"""Read and write a table's lineage record together with the ideal state it speaks of."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from segments.domain import lineage as lineages
from segments.domain import table_config
from segments.domain.lineage import LIVE, Entry, Lineage, State
from segments.domain.table_config import TableConfig
from segments.domain.znrecord import ZNRecord
from segments.errors import NotFound, StateConflict
from segments.names import OFFLINE, TableName, split_table_name
from segments.services.context import Context
from segments.store import paths
from segments.store.base import Check, Create, Delete, Replace, Versioned, Write
from segments.store.update import update_record


@dataclass(frozen=True)
class Observed:
    """Lineage, ideal state and table config as read together, each with its version (None: there is no lineage record yet).

    ``more``: the other records that were asked for, in the order asked.
    """

    lineage: Lineage
    lineage_node: Versioned | None
    ideal: ZNRecord
    ideal_version: int
    config_record: ZNRecord | None = None
    more: Sequence[Versioned | None] = ()

    def write_lineage(self, after: Lineage) -> Write:
        """The conditional write that makes ``after`` the lineage: create-only for the very first entry (B1)."""
        path, record = paths.lineage(after.table), lineages.to_record(after)
        return Create(path, record) if self.lineage_node is None else Replace(path, record, self.lineage_node.version)

    def same_lineage(self) -> list[Write]:
        """Writes that fail a transaction unless the lineage is still the one seen; that there is none is said by making and removing it."""
        path = paths.lineage(self.lineage.table)
        if self.lineage_node is None:
            return [Create(path, None), Delete(path)]
        return [Check(path, self.lineage_node.version)]

    @property
    def config(self) -> TableConfig:
        """The table's config. NotFound when it is gone, RecordCorrupt when it can not be read."""
        if self.config_record is None:
            raw, kind = split_table_name(self.lineage.table)
            raise table_not_found(TableName(raw, kind or OFFLINE))
        return table_config.from_record(self.config_record)


def read_lineage(ctx: Context, table: TableName) -> Lineage | None:
    """The lineage, or None when the table has no record. RecordCorrupt when it can not be read."""
    node = ctx.store.get(paths.lineage(table.typed))
    return lineages.from_record(node.record) if node and node.record else None


def observe(ctx: Context, table: TableName, *more: str) -> Observed:
    """Read lineage, then ideal state, then config and ``more`` paths: one round trip, in this order. NotFound: no such table."""
    node, ideal, config, *others = ctx.store.get_many(
        [paths.lineage(table.typed), paths.ideal_state(table.typed), paths.table_config(table.typed), *more]
    )
    if ideal is None or ideal.record is None:
        raise table_not_found(table)
    lineage = lineages.from_record(node.record) if node and node.record else lineages.empty(table.typed)
    return Observed(lineage, node, ideal.record, ideal.version, config.record if config else None, others)


def note_entry(
    ctx: Context, table: TableName, entry_id: str, changes: Mapping[str, str | None], *, states: Collection[State] = frozenset(State)
) -> Entry:
    """Set or remove (None) notes of an entry; returns it as it is then. Pinot's timestamp stays as it is.

    NotFound when there is no such entry, StateConflict when it is in none of ``states``. Every call that changes something has the
    brokers read the lineage again and makes writers of that moment decide afresh: renew a note every few seconds, not at every step.
    """
    found: list[Entry] = []

    def decide(node: Versioned | None) -> ZNRecord | None:
        lineage = lineages.from_record(node.record) if node and node.record else lineages.empty(table.typed)
        entry = lineage.entry(entry_id)
        if entry.state not in states:
            raise StateConflict(
                f"Lineage entry '{entry_id}' of table '{table}' is {entry.state}.",
                remedy="Nothing is left to do." if entry.state not in LIVE else "Look at the entry first.",
                entry=entry_id,
            )
        found[:] = [entry.noted(changes)]
        return lineages.to_record(lineage.having(found[0])) if found[0] != entry else None

    update_record(ctx.store, paths.lineage(table.typed), decide)
    return found[0]


def table_not_found(table: TableName) -> NotFound:
    """The refusal for an unknown table."""
    return NotFound(f"Table '{table}' does not exist.", remedy="List the tables with GET /tables.")
