"""Lineage entries that are kept beyond the lineage, in ZooKeeper, for as long as files of the segments that they hide
are kept.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.replacement.lineage import Entry
from segments.domain.replacement.undo.kept_entries import KeptEntry, from_record, is_spent, merged, to_record
from segments.errors import Conflict, OutcomeUnknown, RecordCorrupt
from segments.names import TableName, split_table_name
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import observe
from segments.services.segments import archive
from segments.store import paths
from segments.store.base import Versioned
from segments.store.update import update_record

log = logging.getLogger(__name__)


def read_kept_entries(ctx: Context, table: TableName) -> dict[str, KeptEntry]:
    """{entry id: the kept entry}; one that cannot be read is logged and left out."""
    ids = ctx.store.children(paths.past_entries(table.typed))
    nodes = ctx.store.get_many([paths.past_entry(table.typed, i) for i in ids])
    found = (_parsed(table, i, n) for i, n in zip(ids, nodes, strict=True))
    return {p.entry.id: p for p in found if p is not None}


def keep_entries(ctx: Context, table: TableName, entries: Iterable[Entry]) -> None:
    """Keep these as they are now, with the names that an earlier copy still has. Those that hide nothing
    are left out.
    """
    for entry in entries:
        if entry.hides:
            _keep(ctx, table, entry)


def _keep(ctx: Context, table: TableName, entry: Entry) -> None:
    path = paths.past_entry(table.typed, entry.id)

    def decide(node: Versioned | None) -> ZNRecord:
        return to_record(table.typed, merged(entry, _parsed(table, entry.id, node), ctx.clock()))

    try:
        ctx.store.create(path, decide(None))  # a switch waits for this, and mostly the entry was never kept before
    except (Conflict, OutcomeUnknown):
        update_record(ctx.store, path, decide)


def forget_spent(ctx: Context, table: TableName) -> list[str]:
    """Forget those of which no file is left; one sentence. The queue is read before the archive: names move from one to
    the other.
    """
    past = read_kept_entries(ctx, table)
    if not past:
        return []
    seen = observe(ctx, table)
    files = {*ctx.engine.segments.waiting_deletions(ctx, table)} | archive.kept_names(ctx, table)
    spent = [
        i
        for i, p in past.items()
        if i not in seen.lineage.entries and is_spent(p, seen.lineage, files, seen.ideal.maps)
    ]
    for entry_id in spent:
        ctx.store.delete(paths.past_entry(table.typed, entry_id))
    return [f"Forgot {len(spent)} old lineage entries of {table} of which no file is left."] if spent else []


def forget_dropped(ctx: Context) -> None:
    """Forget those of tables that do not exist any more, once no file of theirs is left."""
    present = set(ctx.store.children(paths.TABLE_CONFIGS))
    for typed in set(ctx.store.children(paths.PAST_ENTRIES)) - present:
        raw, kind = split_table_name(typed)
        if kind is None or not archive.kept_names(ctx, TableName(raw, kind)):
            ctx.store.delete_tree(paths.past_entries(typed))


def _parsed(table: TableName, entry_id: str, node: Versioned | None) -> KeptEntry | None:
    try:
        return from_record(node.record) if node is not None and node.record is not None else None
    except RecordCorrupt:
        log.exception("What is kept of lineage entry %s of %s is damaged.", entry_id, table)
        return None
