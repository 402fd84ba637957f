"""Read and write a table's lineage record together with the ideal state it speaks of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.replacement import lineage as lineages
from segments.domain.replacement.lineage import LIVE, Entry, Lineage, State
from segments.domain.tables import table_config
from segments.domain.tables.table_config import TableConfig
from segments.errors import Forbidden, NotFound, StateConflict
from segments.names import OFFLINE, TableName, split_table_name
from segments.services.core.context import Context
from segments.services.segments.online import live_instance_names, served_by
from segments.store import paths
from segments.store.base import Check, Create, Delete, Replace, Versioned, Write
from segments.store.update import update_record


@dataclass(frozen=True)
class Observed:
    """Lineage, ideal state and table config as read together, each with its version (None: there is no lineage record
    yet).

    ``more``: the other records that were wanted, in that order. ``notes_node``: on a Pinot cluster
    (``has_notes_apart``), the record of our notes of the entries; of such a lineage only these are ours to write.
    """

    lineage: Lineage
    lineage_node: Versioned | None
    ideal: ZNRecord
    ideal_version: int
    config_record: ZNRecord | None = None
    more: Sequence[Versioned | None] = ()
    notes_node: Versioned | None = None
    has_notes_apart: bool = False
    #: {segment of the ideal state: does a live instance serve it?}; only where that was wanted.
    served: Mapping[str, bool] = field(default_factory=dict)
    live: Collection[str] = ()

    @property
    def table(self) -> TableName:
        """The table that was read."""
        raw, kind = split_table_name(self.lineage.table)
        return TableName(raw, kind or OFFLINE)

    def write_lineage(self, after: Lineage) -> Write:
        """The conditional write that makes ``after`` the lineage: create-only for the very first entry (rule
        `conditional-writes`).

        Of a Pinot cluster's lineage only our notes can be changed so; Forbidden for anything else.
        """
        if self.has_notes_apart:
            return self._write_notes(after)
        path, record = paths.lineage(after.table), lineages.to_record(after)
        return Create(path, record) if self.lineage_node is None else Replace(path, record, self.lineage_node.version)

    def same_lineage(self) -> list[Write]:
        """Writes that fail a transaction unless the lineage is still the one seen; that there is none is checked by
        making and removing it.
        """
        path = paths.lineage(self.lineage.table)
        if self.lineage_node is None:
            return [Create(path, None), Delete(path)]
        return [Check(path, self.lineage_node.version)]

    def _write_notes(self, after: Lineage) -> Write:
        table = self.lineage.table
        if [replace(e, notes={}) for e in self.lineage.in_order()] != [replace(e, notes={}) for e in after.in_order()]:
            raise Forbidden(
                f"The lineage of '{table}' belongs to Pinot.", remedy="Change it through Pinot's controller."
            )
        node = self.notes_node
        record = lineages.notes_record(after, node.record if node else None)
        path = paths.entry_notes(table)
        return Create(path, record) if node is None else Replace(path, record, node.version)

    @cached_property
    def config(self) -> TableConfig:
        """The table's config. NotFound when it is gone, RecordCorrupt when it cannot be read."""
        if self.config_record is None:
            raise table_not_found(self.table)
        return table_config.from_record(self.config_record)


def read_lineage(ctx: Context, table: TableName) -> Lineage | None:
    """The lineage, or None when the table has no record. RecordCorrupt when it cannot be read."""
    node = ctx.store.get(paths.lineage(table.typed))
    if node is None or node.record is None:
        return None
    return _parsed(
        table, node, ctx.store.get(paths.entry_notes(table.typed)) if not ctx.engine.lineage.owns_record else None
    )


def observe(ctx: Context, table: TableName, *more: str) -> Observed:
    """Read lineage, then ideal state, then config and ``more`` paths: one round trip, in this order. NotFound: no such
    table.
    """
    ours = _notes_path(ctx, table)
    node, ideal, config, *others = ctx.store.get_many(
        [paths.lineage(table.typed), paths.ideal_state(table.typed), paths.table_config(table.typed), *more, *ours]
    )
    if ideal is None or ideal.record is None:
        raise table_not_found(table)
    notes = others.pop() if ours else None
    lineage = _parsed(table, node, notes)
    config_record = config.record if config else None
    apart = bool(ours)
    return Observed(lineage, node, ideal.record, ideal.version, config_record, others, notes, has_notes_apart=apart)


def observe_served(ctx: Context, table: TableName) -> Observed:
    """As ``observe``, with which segments are served and by which instances."""
    return with_served(live_instance_names(ctx), observe(ctx, table, paths.external_view(table.typed)))


def with_served(live: Collection[str], seen: Observed) -> Observed:
    """``seen``, read with the table's external view, and the instances that are there."""
    return replace(seen, served=served_by(live, seen.more[0], seen.ideal.maps), live=live)


def _notes_path(ctx: Context, table: TableName) -> list[str]:
    """Where our notes lie when they are not in the lineage itself."""
    return [] if ctx.engine.lineage.owns_record else [paths.entry_notes(table.typed)]


def _parsed(table: TableName, node: Versioned | None, notes: Versioned | None) -> Lineage:
    lineage = lineages.from_record(node.record) if node and node.record else lineages.empty(table.typed)
    return lineages.with_notes(lineage, notes.record) if notes else lineage


def note_entry(
    ctx: Context,
    table: TableName,
    entry_id: str,
    changes: Mapping[str, str | None],
    *,
    states: Collection[State] = frozenset(State),
) -> Entry:
    """Set or remove (None) notes of an entry; returns it as it is then. Pinot's timestamp stays as it is.

    NotFound when there is no such entry, StateConflict when it is in none of ``states``. Every call that changes
    something has the brokers read the lineage again and makes writers of that moment decide again: renew a note every
    few seconds, not at every step.
    """

    def change(entry: Entry) -> Mapping[str, str | None]:
        if entry.state not in states:
            raise StateConflict(
                f"Lineage entry '{entry_id}' of table '{table}' is {entry.state}.",
                remedy="Nothing is left to do." if entry.state not in LIVE else "Check the entry first.",
                entry=entry_id,
            )
        return changes

    return change_notes(ctx, table, entry_id, change)[1]


def change_notes(
    ctx: Context, table: TableName, entry_id: str, change: Callable[[Entry], Mapping[str, str | None] | None]
) -> tuple[Entry, Entry]:
    """(the entry before and after) its notes were changed as ``change`` says of it as it is at that moment; None:
    nothing is written.
    """
    found: list[tuple[Entry, Entry]] = []
    is_ours = ctx.engine.lineage.owns_record

    def decide(node: Versioned | None) -> ZNRecord | None:
        foreign = None if is_ours else ctx.store.get(paths.lineage(table.typed))
        lineage = _parsed(table, node if is_ours else foreign, None if is_ours else node)
        entry = lineage.entry(entry_id)
        changes = change(entry)
        found[:] = [(entry, entry.noted(changes) if changes else entry)]
        if found[0][0] == found[0][1]:
            return None
        after = lineage.having(found[0][1])
        return lineages.to_record(after) if is_ours else lineages.notes_record(after, node.record if node else None)

    update_record(ctx.store, paths.lineage(table.typed) if is_ours else paths.entry_notes(table.typed), decide)
    return found[0]


def table_not_found(table: TableName) -> NotFound:
    """The refusal for an unknown table."""
    return NotFound(f"Table '{table}' does not exist.", remedy="List the tables with GET /tables.")
