"""Brings deleted segments back on the embedded cluster: record, row and file as they were.

A segment that still waits in the deletion queue just leaves it. One that is archived already is claimed in that queue,
its file goes to a staged name, then record and row are written in one transaction, then the file gets its final name
and the document goes. Who dies on the way leaves a claimed item: once the claim is over the next drain ends the restore
if the row is there, or puts the file back if it is not (``restored_files.settle``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from segments.clusters.embedded.segments.deletion_queue import forget, read_queue
from segments.clusters.embedded.segments.restored_files import land, stage, unstage
from segments.clusters.embedded.segments.segment_servers import segment_servers
from segments.domain.formats.znrecord import ZNRecord, encode
from segments.domain.replacement.undo.return_rule import ReturnRule
from segments.domain.segments import archive as documents
from segments.domain.segments import assignment, ideal_state
from segments.domain.segments.archive import ArchivedSegment, Outcome, refused
from segments.domain.segments.ideal_state import ONLINE
from segments.domain.segments.pending_deletion import Pending
from segments.domain.tables.table_config import TableConfig
from segments.domain.upkeep import retention as rules
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.segments import archive
from segments.services.segments.addresses import own_file, recorded_address
from segments.services.segments.archive import KeptFile, in_parallel, kept_path
from segments.services.segments.restore import Found, busy, obstacles
from segments.store import paths
from segments.store.base import Check, Create, Replace, Write
from segments.store.update import update_transaction

#: Segments per claim, and bytes of records per transaction (with the ideal state it stays below ZooKeeper's limit).
_BATCH: Final = 250
_CHUNK_BYTES: Final = 400_000


def find_kept(ctx: Context, config: TableConfig, names: Sequence[str], files: Sequence[str]) -> dict[str, Found]:
    """As ``SegmentEngine.find_kept``: in the deletion queue, or among the kept files."""
    queued = read_queue(ctx, config.table).items
    stored = archive.find(ctx, config.table, [s for s in names if s not in queued or queued[s].restores], files)
    found = {
        s: Found(_possible(ctx, config, s, queued.get(s), stored.get(s)), stored.get(s), queued.get(s)) for s in names
    }
    # What waits for its deletion is the newest version; an older one cannot take its place before that is archived.
    older = {archive.segment_of(f) for f in files}.intersection(
        s for s, f in found.items() if f.item is not None and f.kept is None
    )
    return found | {s: replace(found[s], outcome=busy(s, "deleted")) for s in older}


def bring_back(ctx: Context, config: TableConfig, found: Sequence[Found], rule: ReturnRule) -> dict[str, Outcome]:
    """{segment: what became of it} where that differs from what was foreseen."""
    waiting = [f.outcome.segment for f in found if f.kept is None]
    outcomes = _take_back(ctx, config, waiting, rule) if waiting else {}
    for batch in _batches([f.kept for f in found if f.kept is not None]):
        outcomes.update(_bring_back(ctx, config, batch, rule))
    return outcomes


def _possible(ctx: Context, config: TableConfig, segment: str, item: Pending | None, kept: KeptFile | None) -> Outcome:
    """What a restore of one segment would find, the lineage aside."""
    if item is not None and item.is_claimed(ctx.clock()):
        return busy(segment, "restored" if item.restores else "deleted")
    if item is not None and not item.restores:
        return Outcome(
            segment, "done", f"The deletion of segment '{segment}' is taken back; its file has not left its place."
        )
    if kept is None:
        text = f"Segment '{segment}' of table '{config.table}' is not among the deleted segments that are kept."
        return refused(segment, text, "It was never there, or its time is over: push the data again.")
    if kept.kept is None:
        text = f"The file of segment '{segment}' is kept, but not its record."
        return refused(
            segment, text, f"Take it from the deep store ({kept_path(config.table, kept.file)}) and upload it."
        )
    if kept.kept.bytes is not None and kept.bytes != kept.kept.bytes:
        text = (
            f"The kept file of segment '{segment}' has {kept.bytes} bytes, not {kept.kept.bytes} as when it was "
            "deleted."
        )
        return refused(segment, text, "Push the data again.")
    meta = kept.kept.metadata
    due = rules.plan_time(config, [meta], (), ctx.clock())
    text = f"Segment '{segment}' is back, with CRC {meta.crc}."
    remedy = "It is older than the table's retention: the next retention pass deletes it again." if due else ""
    return Outcome(segment, "done", text, remedy, kept.bytes, meta.crc)


def _take_back(ctx: Context, config: TableConfig, segments: Sequence[str], rule: ReturnRule) -> dict[str, Outcome]:
    """Segments that still wait for their deletion: out of the queue and into the ideal state, in one transaction."""
    table, outcomes = config.table, dict[str, Outcome]()

    def attempt() -> Sequence[Write] | None:
        outcomes.clear()
        seen, queue = observe(ctx, table), read_queue(ctx, table)
        hidden = obstacles(ctx, seen, rule)
        nodes = ctx.store.get_many([paths.segment(table.typed, s) for s in segments])
        held: dict[str, tuple[str, ...]] = {}
        for segment, node in zip(segments, nodes, strict=True):
            item = queue.items.get(segment)
            found = documents.name_refusal(segment, table.typed, seen.ideal.maps, hidden)
            if found is None and (item is None or item.is_claimed(ctx.clock()) or node is None):
                found = busy(segment, "deleted")
            if found is not None:
                outcomes[segment] = found
            elif item is not None:
                held[segment] = item.servers
        if not held:
            return None
        return [*_rows_back(ctx, config, seen, held), queue.write(without=held)]

    update_transaction(ctx.store, attempt, turn=table.typed)
    return outcomes


def _bring_back(ctx: Context, config: TableConfig, batch: Sequence[KeptFile], rule: ReturnRule) -> dict[str, Outcome]:
    """Kept segments, as many as fit one transaction; returns the outcomes that differ from what was foreseen."""
    table, token = config.table, ctx.new_id()
    outcomes = _claim(ctx, table, batch, token, rule)
    ours = [k for k in batch if k.segment not in outcomes]
    moved = dict(zip([k.segment for k in ours], in_parallel(lambda k: stage(ctx, table, k), ours), strict=True))
    for segment in [s for s, is_there in moved.items() if not is_there]:
        outcomes[segment] = refused(segment, f"The kept file of segment '{segment}' is gone.", "Push the data again.")
    ready = [k for k in ours if moved[k.segment]]
    outcomes.update(_register(ctx, config, ready, token, rule))
    back = [k for k in ready if k.segment not in outcomes]
    in_parallel(lambda k: land(ctx, table, k.kept), back)
    lost = [k for k in ready if k.segment in outcomes]
    in_parallel(lambda k: unstage(ctx, table, k.kept, k.file), lost)
    forget(ctx, table, token, [k.segment for k in ours], with_records=set())
    return outcomes


def _claim(
    ctx: Context, table: TableName, batch: Sequence[KeptFile], token: str, rule: ReturnRule
) -> dict[str, Outcome]:
    """Put the names into the queue under our token. Refused where somebody else is at the name.

    Uploads lock first and read the queue then; here it is the other way round, so one of the two always sees the
    other.
    """
    outcomes: dict[str, Outcome] = {}

    def attempt() -> Sequence[Write] | None:
        outcomes.clear()
        seen, queue, now = observe(ctx, table), read_queue(ctx, table), ctx.clock()
        hidden = obstacles(ctx, seen, rule)
        put = []
        for one in batch:
            item = queue.items.get(one.segment)
            found = documents.name_refusal(one.segment, table.typed, seen.ideal.maps, hidden)
            if found is None and item is not None and (item.is_claimed(now) or not item.restores):
                found = busy(one.segment, "deleted or restored")
            if found is not None:
                outcomes[one.segment] = found
            else:
                servers = one.kept.servers if one.kept else ()
                put.append(Pending(one.segment, now, restores=one.file, servers=servers, claimed_ms=now, claim=token))
        return [queue.write(put=put)] if put else None

    update_transaction(ctx.store, attempt, turn=table.typed)
    uploading = set(ctx.store.children(paths.upload_locks(table.typed)))
    locked = [k.segment for k in batch if k.segment in uploading and k.segment not in outcomes]
    for segment in locked:
        outcomes[segment] = busy(segment, "uploaded")
    if locked:
        forget(ctx, table, token, locked, with_records=set())
    return outcomes


def _register(
    ctx: Context, config: TableConfig, ready: Sequence[KeptFile], token: str, rule: ReturnRule
) -> dict[str, Outcome]:
    """Records and rows in one transaction, while the names are still ours; what cannot be is reported."""
    table, outcomes = config.table, dict[str, Outcome]()

    def attempt() -> Sequence[Write] | None:
        outcomes.clear()
        seen, queue = observe(ctx, table), read_queue(ctx, table)
        hidden = obstacles(ctx, seen, rule)
        nodes = ctx.store.get_many([paths.segment(table.typed, k.segment) for k in ready])
        records: list[Write] = []
        held: dict[str, tuple[str, ...]] = {}
        for one, node in zip(ready, nodes, strict=True):
            record = _record_back(ctx, table, one.kept)
            if one.segment in seen.ideal.maps and node is not None and node.record == record:
                continue  # ours, from an attempt whose reply was lost
            item = queue.items.get(one.segment)
            found = documents.name_refusal(one.segment, table.typed, seen.ideal.maps, hidden)
            if found is None and (item is None or item.claim != token):
                found = busy(one.segment, "deleted or restored")
            if found is not None:
                outcomes[one.segment] = found
                continue
            path = paths.segment(table.typed, one.segment)
            records.append(Create(path, record) if node is None else Replace(path, record, node.version))
            held[one.segment] = item.servers if item else ()
        if not held or queue.node is None:
            return None
        return [
            *records,
            *_rows_back(ctx, config, seen, held),
            Check(paths.pending_deletions(table.typed), queue.node.version),
        ]

    update_transaction(ctx.store, attempt, turn=table.typed)
    return outcomes


def _record_back(ctx: Context, table: TableName, kept: ArchivedSegment | None) -> ZNRecord:
    """The record as it was; with the address of the file where it lies now."""
    assert kept is not None  # only such were foreseen as possible
    meta = kept.metadata
    url = recorded_address(ctx, table, kept.segment, meta.crc or 0)
    is_moved = own_file(ctx, table, meta) is not None and meta.download_url != url
    return meta.edited({"segment.download.url": url}).to_record() if is_moved else kept.record


def _rows_back(ctx: Context, config: TableConfig, seen: Observed, held: Mapping[str, Sequence[str]]) -> list[Write]:
    """Rows on the servers that held the segments; where those are unknown now, on the least loaded ones."""
    table, replication = config.table, config.replication
    usable = segment_servers(ctx, config)
    known = usable.enabled | usable.ready
    rows = {
        s: dict.fromkeys(sorted(servers), ONLINE)
        for s, servers in held.items()
        if servers and known.issuperset(servers)
    }
    rest = [s for s in held if s not in rows]
    if rest:
        servers = usable.choose(table.typed, replication)
        load = assignment.segments_per_server([*seen.ideal.maps.values(), *rows.values()])
        rows |= assignment.assign(rest, servers, load, replication)
    return [
        Replace(paths.ideal_state(table.typed), ideal_state.with_rows(seen.ideal, rows), seen.ideal_version),
        *seen.same_lineage(),
    ]


def _batches(kept: Sequence[KeptFile]) -> list[list[KeptFile]]:
    batches: list[list[KeptFile]] = []
    size = 0
    for one in kept:
        bytes_of = len(encode(one.kept.record)) + 200 if one.kept else 0
        if not batches or len(batches[-1]) >= _BATCH or size + bytes_of > _CHUNK_BYTES:
            batches.append([])
            size = 0
        batches[-1].append(one)
        size += bytes_of
    return batches
