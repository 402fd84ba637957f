"""One retention pass over one table (Pinot's RetentionManager): time retention, lineage clean-up, pending deletions,
old files.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import unquote

from segments.clusters.embedded.replacement.acknowledgement import brokers_behind
from segments.clusters.embedded.segments import leaving
from segments.clusters.embedded.segments.deletion_queue import read_queue
from segments.domain.formats.plural import counted
from segments.domain.segments.archive import RECORDS
from segments.domain.upkeep import retention
from segments.domain.upkeep.retention import LineagePlan
from segments.errors import NotFound, PinotAdminError
from segments.gateways.deep_store.deepstore import DELETED, encode
from segments.metrics.upkeep import STRANDED_FILES
from segments.names import REALTIME, TABLE_TYPES, TableName, split_table_name
from segments.services.core.context import SYSTEM, Actor, Context
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.replacement.undo.kept_entries import forget_dropped, forget_spent, keep_entries
from segments.services.segments import archive, deletion
from segments.services.segments.deletion_guard import guarded, is_exclusive
from segments.services.segments.segments import read_segments
from segments.services.tables.table_record import read_table_config
from segments.store import paths
from segments.store.base import Check, Write
from segments.store.update import update_transaction

log = logging.getLogger(__name__)

Step = Callable[[Context, TableName], list[str]]


def run(ctx: Context, table: TableName) -> list[str]:
    """One pass; returns what was done, one plain sentence each. Order as in Pinot: time, lineage, then files of
    deleted segments.

    A step that fails does not stop the later ones (in Pinot it does); the pass then raises, naming what was done all
    the same.
    """
    steps: dict[str, Step] = {
        "Time retention": _by_time,
        "Lineage clean-up": _by_lineage,
        "The deletion queue": deletion.drain,
        "Clean-up of deleted segments": _aged_files,
        "Clean-up of old lineage entries": forget_spent,
        "Clean-up of interrupted uploads": _stranded_uploads,
    }
    sentences: list[str] = []
    failed: list[str] = []
    for name, step in steps.items():
        try:
            sentences += step(ctx, table)
        except NotFound:
            raise  # the table is gone
        except (PinotAdminError, OSError) as error:
            log.exception("%s of %s failed.", name, table)
            failed.append(f"{name} failed: {error}")
    if failed:
        raise PinotAdminError(" ".join([*failed, *(["Done anyway:", *sentences] if sentences else [])]))
    return sentences or [f"Nothing of {table} is due."]


_EXPIRED: Final = Actor(SYSTEM.name, "older than the table's retention")


def _by_time(ctx: Context, table: TableName) -> list[str]:
    """Segments older than the table's retention, except those that are guarded as in a deletion by hand."""
    config, seen = read_table_config(ctx, table), observe(ctx, table)
    records = read_segments(ctx, table)
    due = retention.plan_time(config, records, guarded(seen, exclusive=is_exclusive(ctx)), ctx.clock(), seen.ideal.maps)
    orphans = [s for s in due if s not in seen.ideal.maps]
    due = [s for s in due if s in seen.ideal.maps]
    outcomes = deletion.delete_segments(ctx, table, due, force=True, actor=_EXPIRED) if due else []
    gone = [o.segment for o in outcomes if o.outcome == "done"]
    kept = [o.segment for o in outcomes if o.outcome == "refused"]
    reaped = leaving.reap_orphans(ctx, table, orphans)
    sentences = (
        [f"Deleted {counted(len(gone), 'segment')} of {table} older than its retention, e.g. {gone[0]}."]
        if gone
        else []
    )
    if kept:
        sentences.append(
            f"Kept {counted(len(kept), 'expired segment')} of {table} that became part of a replacement, "
            f"e.g. {kept[0]}."
        )
    return [
        *sentences,
        *(
            [f"Removed the records of {counted(len(reaped), 'consuming segment')} of {table} that nobody consumes."]
            if reaped
            else []
        ),
    ]


def _by_lineage(ctx: Context, table: TableName) -> list[str]:
    """First segments, then entries that have none left; what cannot be taken out now is checked again in the next
    pass.
    """
    seen = observe(ctx, table)
    if seen.lineage_node is None:
        return []
    plan = _plan(ctx, table, seen)
    if plan.delete and (behind := brokers_behind(ctx, table)):
        return [
            f"Kept {counted(len(plan.delete), 'replaced segment')} of {table}: broker {behind[0]} still answers "
            "from an older lineage."
        ]
    sentences = list(plan.why)
    removed = (
        leaving.remove_hidden(ctx, table, plan.delete, still=lambda now: _plan(ctx, table, now).delete)
        if plan.delete
        else []
    )
    if len(removed) < len(plan.delete):
        kept = sorted(set(plan.delete) - set(removed))
        sentences.append(
            f"Kept {len(kept)} of these, e.g. {kept[0]}: queries see them again, or they were pinned meanwhile."
        )
    if plan.orphans:
        reaped = leaving.reap_orphans(ctx, table, plan.orphans)
        sentences += (
            [f"Removed the records of {counted(len(reaped), 'segment')} that uploads of dropped entries had left."]
            if reaped
            else []
        )
    if plan.drop:
        _drop_entries(ctx, table)
    return sentences


def _plan(ctx: Context, table: TableName, seen: Observed) -> LineagePlan:
    spare = retention.last_committed(read_segments(ctx, table)) if table.type == REALTIME else set()
    return retention.plan_lineage(
        seen.lineage, read_table_config(ctx, table), seen.ideal.maps, ctx.clock(), spare=spare
    )


def _drop_entries(ctx: Context, table: TableName) -> None:
    """Remove spent entries, in one transaction with the ideal state that they were found spent in: a segment that comes
    back meanwhile (a restore, say) is still hidden by its entry, so the entry stays. What is spent is decided again in
    every attempt. An entry is kept elsewhere first, for those who bring back what it removed.
    """

    def attempt() -> Sequence[Write] | None:
        seen = observe(ctx, table)
        plan = _plan(ctx, table, seen)
        if seen.lineage_node is None or not plan.drop:
            return None
        keep_entries(ctx, table, [seen.lineage.entries[i] for i in plan.drop])
        after = seen.lineage.having(without=plan.drop)
        return [seen.write_lineage(after), Check(paths.ideal_state(table.typed), seen.ideal_version)]

    update_transaction(ctx.store, attempt)


def _aged_files(ctx: Context, table: TableName) -> list[str]:
    return archive.remove_aged(ctx, encode(table.raw))


def remove_aged_of_dropped_tables(ctx: Context) -> list[str]:
    """Old files of deleted segments in folders whose table no longer exists, which no table's own pass visits."""
    present = {encode(split_table_name(t)[0]) for t in ctx.store.children(paths.TABLE_CONFIGS)}
    folders = {*ctx.deep_store.folders(DELETED), *ctx.deep_store.folders(RECORDS)}
    sentences = [s for folder in sorted(folders - present) for s in archive.remove_aged(ctx, folder)]
    forget_dropped(ctx)
    return sentences


def _stranded_uploads(ctx: Context, table: TableName) -> list[str]:
    """Remove staged files of uploads that died before their record was written; a living upload is never that old.

    What a record names, what is being restored and what is being uploaded right now stays; read after the files were
    listed. A table's OFFLINE and REALTIME parts share the folder.
    """
    folder, now = encode(table.raw), ctx.clock()
    both = [TableName(table.raw, kind) for kind in TABLE_TYPES]
    old = [f.name for f in ctx.deep_store.files(folder) if retention.is_stranded(f.name, f.modified_ms, now)]
    listed = _doubtful(ctx, both, old)
    if not listed:
        return []
    busy = {s for t in both for s in (*read_queue(ctx, t).items, *ctx.store.children(paths.upload_locks(t.typed)))}
    records = [m for t in both for m in read_segments(ctx, t)]
    named = {(m.name, str(m.crc)) for m in records}
    addressed = {unquote((m.download_url or "").rpartition("/")[2]) for m in records}
    stranded = []
    for name in listed:
        segment, version = retention.version_of_file(name)
        is_named = (unquote(segment), version) in named or not addressed.isdisjoint((name, unquote(name)))
        if busy.isdisjoint((unquote(segment), unquote(name))) and not is_named:
            stranded.append(name)
            ctx.deep_store.delete(f"{folder}/{name}")
            STRANDED_FILES.add(ctx.cluster, table.typed)
    return (
        [f"Removed {counted(len(stranded), 'file')} that interrupted uploads to {table} had left."] if stranded else []
    )


def _doubtful(ctx: Context, both: Sequence[TableName], names: Sequence[str]) -> list[str]:
    """Those of these files that may be nobody's. In a remote store every segment's file has its version in its name:
    where a segment in the ideal state has one file, that is the one.
    """
    versions = Counter(retention.version_of_file(name)[0] for name in names)
    nodes = ctx.store.get_many([paths.ideal_state(t.typed) for t in both]) if versions else []
    rows = {encode(s) for n in nodes if n is not None and n.record is not None for s in n.record.maps}
    single = {s for s in rows if versions[s] == 1}
    return [n for n in names if ".tmp." in n or retention.version_of_file(n)[0] not in single]
