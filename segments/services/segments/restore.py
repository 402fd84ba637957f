"""Bring deleted segments back exactly: the same record, the same file, a row in the ideal state; one by one refused
where that can not be.

A segment that still waits in the deletion queue just leaves it. One that is put away already is claimed in that queue,
its file goes to a staged name, then record and row are written in one transaction, then the file gets its final name
and the document goes. Who dies on the way leaves a claimed item: once the claim is over the next drain ends the restore
if the row is there, or puts the file back if it is not.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from segments.clusters.pinot.segments import restore as pinot_restore
from segments.domain.formats.znrecord import ZNRecord, encode
from segments.domain.replacement.undo.return_rule import Obstacle, ReturnRule
from segments.domain.segments import archive as documents
from segments.domain.segments import assignment, ideal_state
from segments.domain.segments.archive import ArchivedSegment, Outcome, refused
from segments.domain.segments.ideal_state import ONLINE
from segments.domain.segments.segment_metadata import from_record
from segments.domain.tables.table_config import TableConfig
from segments.domain.upkeep import retention as rules
from segments.errors import NotFound, StateConflict
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.replacement.undo.beside import counted, pushed_since
from segments.services.replacement.undo.past_entries import read_past
from segments.services.segments import archive
from segments.services.segments.archive import KeptFile, document_path, in_parallel, kept_path, owns_file
from segments.services.segments.deletion_queue import Pending, forget, read_queue
from segments.services.segments.placement.segment_servers import segment_servers
from segments.services.segments.replaced import in_place
from segments.services.segments.upload_files import download_url, staged_path
from segments.services.tables.table_record import read_table_config
from segments.store import paths
from segments.store.base import Check, Create, Replace, Versioned, Write
from segments.store.update import update_transaction

log = logging.getLogger(__name__)

#: Segments per claim, and bytes of records per transaction (with the ideal state it stays below ZooKeeper's limit).
_BATCH: Final = 250
_CHUNK_BYTES: Final = 400_000


def restore_segments(
    ctx: Context,
    table: TableName,
    segments: Sequence[str],
    *,
    dry_run: bool = False,
    include_hidden: bool = False,
    actor: Actor,
    overwrite: bool = False,
    files: Sequence[str] = (),
    force: bool = False,
) -> list[Outcome]:
    """Bring these back; what became of each, in their order. ``dry_run`` only tells what would.

    ``files`` names kept files where another than the newest version of a segment is wanted. ``overwrite``: what exists
    again is replaced by name, and kept in turn. Refused: a name that exists again without that, one that a lineage
    entry hides (``include_hidden`` lets the old side of a COMPLETED one through) or hid before it was dropped, one that
    newer data stands for now (unless ``force`` says that it is other data), one that is just being deleted or uploaded,
    and one whose file or record is gone. NotFound when there is no such table.
    """
    if ctx.pinot is not None:
        return pinot_restore.restore_segments(
            ctx,
            table,
            segments,
            dry_run=dry_run,
            include_hidden=include_hidden,
            actor=actor,
            overwrite=overwrite,
            files=files,
            force=force,
        )
    if not ctx.deep_store.exists:
        raise StateConflict(
            "This installation has no deep store: of deleted segments nothing is kept that could come back."
        )
    names, config, seen = in_place.names_of(segments, files), read_table_config(ctx, table), observe(ctx, table)
    found, outcomes = look_up(ctx, config, names, files), dict[str, Outcome]()
    deleted = {} if force else {s: at for s, f in found.items() if (at := f.deleted_ms) is not None}
    rule = ReturnRule(include_hidden, deleted=deleted, is_refresh=config.is_refresh)
    hidden = _hidden(ctx, seen, rule)
    free = {
        s: at
        for s, at in deleted.items()
        if s not in seen.ideal.maps and s not in seen.lineage.hidden() and s not in hidden
    }
    late = pushed_since(ctx, seen, free)
    stored = {s: f.kept for s, f in found.items() if f.kept is not None}
    over = in_place.foreseen(ctx, seen, hidden, stored) if overwrite else {}
    for name in (n for n in names if n not in over):
        outcomes[name] = (
            documents.name_refusal(name, table.typed, seen.ideal.maps, hidden) or late.get(name) or found[name].outcome
        )
    outcomes.update(counted(ctx, seen, outcomes, hidden))
    if not dry_run:
        wanted = [found[s] for s, o in outcomes.items() if o.outcome == "done"]
        outcomes.update(_bring_all(ctx, config, wanted, rule))
        over = {
            s: in_place.bring_back(ctx, table, stored[s], actor) if o.outcome == "done" else o for s, o in over.items()
        }
        _remember(ctx, table, [*outcomes.values(), *over.values()], actor)
    outcomes |= over
    return [outcomes[name] for name in names]


@dataclass(frozen=True)
class Found:
    """What there is of one deleted segment: ``outcome`` of a restore, the lineage aside; ``kept``: its file, None while
    it waits in the deletion queue, then ``item`` is its place there.
    """

    outcome: Outcome
    kept: KeptFile | None
    item: Pending | None

    @property
    def deleted_ms(self) -> int | None:
        """When it was asked to go (epoch ms); None: it is not known."""
        if self.kept is not None:
            return self.kept.kept.requested_ms if self.kept.kept is not None else self.kept.deleted_ms
        return self.item.requested_ms if self.item is not None else None


def look_up(ctx: Context, config: TableConfig, names: Sequence[str], files: Sequence[str] = ()) -> dict[str, Found]:
    """{name: what is kept of it}; ``files`` as for ``restore_segments``."""
    queued = read_queue(ctx, config.table).items
    stored = archive.find(ctx, config.table, [s for s in names if s not in queued or queued[s].restores], files)
    found = {
        s: Found(_possible(ctx, config, s, queued.get(s), stored.get(s)), stored.get(s), queued.get(s)) for s in names
    }
    # What waits for its deletion is the newest version; an older one can not take its place before that is put away.
    older = {archive.segment_of(f) for f in files}.intersection(
        s for s, f in found.items() if f.item is not None and f.kept is None
    )
    return found | {s: replace(found[s], outcome=_busy(s, "deleted")) for s in older}


def restore_hidden(ctx: Context, table: TableName, segments: Sequence[str], entry_id: str) -> list[Outcome]:
    """Bring these back as new segments of an unfinished replacement, so that no query sees them yet; what became of
    each.

    StateConflict when the replacement is over, or does not list them.
    """
    config, rule = read_table_config(ctx, table), ReturnRule(into=entry_id)
    found = look_up(ctx, config, segments)
    outcomes = {s: f.outcome for s, f in found.items()}
    outcomes.update(_bring_all(ctx, config, [f for f in found.values() if f.outcome.outcome == "done"], rule))
    return list(outcomes.values())


def _hidden(ctx: Context, seen: Observed, rule: ReturnRule) -> Mapping[str, Obstacle]:
    return rule.obstacles(seen.lineage, read_past(ctx, seen.table), seen.ideal.maps)


def _bring_all(ctx: Context, config: TableConfig, found: Sequence[Found], rule: ReturnRule) -> dict[str, Outcome]:
    """{segment: what became of it} where that differs from what was foreseen."""
    waiting = [f.outcome.segment for f in found if f.kept is None]
    outcomes = _take_back(ctx, config, waiting, rule) if waiting else {}
    for batch in _batches([f.kept for f in found if f.kept is not None]):
        outcomes.update(_bring_back(ctx, config, batch, rule))
    return outcomes


def _possible(ctx: Context, config: TableConfig, segment: str, item: Pending | None, kept: KeptFile | None) -> Outcome:
    """What a restore of one segment would find, the lineage aside."""
    if item is not None and item.is_claimed(ctx.clock()):
        return _busy(segment, "restored" if item.restores else "deleted")
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


def _busy(segment: str, doing: str) -> Outcome:
    return refused(segment, f"Segment '{segment}' is just being {doing}.", "Try again in a minute.")


def _take_back(ctx: Context, config: TableConfig, segments: Sequence[str], rule: ReturnRule) -> dict[str, Outcome]:
    """Segments that still wait for their deletion: out of the queue and into the ideal state, in one transaction."""
    table, outcomes = config.table, dict[str, Outcome]()

    def attempt() -> Sequence[Write] | None:
        outcomes.clear()
        seen, queue = observe(ctx, table), read_queue(ctx, table)
        hidden = _hidden(ctx, seen, rule)
        nodes = ctx.store.get_many([paths.segment(table.typed, s) for s in segments])
        held: dict[str, tuple[str, ...]] = {}
        for segment, node in zip(segments, nodes, strict=True):
            item = queue.items.get(segment)
            found = documents.name_refusal(segment, table.typed, seen.ideal.maps, hidden)
            if found is None and (item is None or item.is_claimed(ctx.clock()) or node is None):
                found = _busy(segment, "deleted")
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
    moved = dict(zip([k.segment for k in ours], in_parallel(lambda k: _stage(ctx, table, k), ours), strict=True))
    for segment in [s for s, is_there in moved.items() if not is_there]:
        outcomes[segment] = refused(segment, f"The kept file of segment '{segment}' is gone.", "Push the data again.")
    ready = [k for k in ours if moved[k.segment]]
    outcomes.update(_register(ctx, config, ready, token, rule))
    back = [k for k in ready if k.segment not in outcomes]
    in_parallel(lambda k: _land(ctx, table, k.kept), back)
    lost = [k for k in ready if k.segment in outcomes]
    in_parallel(lambda k: _unstage(ctx, table, k.kept, k.file), lost)
    forget(ctx, table, token, [k.segment for k in ours], with_records=set())
    return outcomes


def _claim(
    ctx: Context, table: TableName, batch: Sequence[KeptFile], token: str, rule: ReturnRule
) -> dict[str, Outcome]:
    """Put the names into the queue under our token. Refused where somebody else is at the name.

    Uploads lock first and look at the queue then; here it is the other way round, so one of the two always sees the
    other.
    """
    outcomes: dict[str, Outcome] = {}

    def attempt() -> Sequence[Write] | None:
        outcomes.clear()
        seen, queue, now = observe(ctx, table), read_queue(ctx, table), ctx.clock()
        hidden = _hidden(ctx, seen, rule)
        put = []
        for one in batch:
            item = queue.items.get(one.segment)
            found = documents.name_refusal(one.segment, table.typed, seen.ideal.maps, hidden)
            if found is None and item is not None and (item.is_claimed(now) or not item.restores):
                found = _busy(one.segment, "deleted or restored")
            if found is not None:
                outcomes[one.segment] = found
            else:
                servers = one.kept.servers if one.kept else ()
                put.append(Pending(one.segment, now, restores=one.file, servers=servers, claimed_ms=now, claim=token))
        return [queue.write(put=put)] if put else None

    update_transaction(ctx.store, attempt, turn=table.typed)
    uploading = set(ctx.store.children(paths.upload_locks(table.typed)))
    busy = [k.segment for k in batch if k.segment in uploading and k.segment not in outcomes]
    for segment in busy:
        outcomes[segment] = _busy(segment, "uploaded")
    if busy:
        forget(ctx, table, token, busy, with_records=set())
    return outcomes


def _stage(ctx: Context, table: TableName, one: KeptFile) -> bool:
    """Move the kept file where servers find it by the CRC on record; True when it is there (also from an attempt that
    was cut).
    """
    assert one.kept is not None  # only such were foreseen as possible
    if one.kept.bytes is None:
        return True
    place = _landing_place(ctx, table, one.kept)
    return ctx.deep_store.move(kept_path(table, one.file), place) or ctx.deep_store.size(place) is not None


def _landing_place(ctx: Context, table: TableName, kept: ArchivedSegment) -> str:
    """Beside the final name in a local store; in a remote one the name with the CRC is the final one."""
    return staged_path(ctx, table, kept.segment, kept.metadata.crc or 0)


def _register(
    ctx: Context, config: TableConfig, ready: Sequence[KeptFile], token: str, rule: ReturnRule
) -> dict[str, Outcome]:
    """Records and rows in one transaction, while the names are still ours; what can not be is told."""
    table, outcomes = config.table, dict[str, Outcome]()

    def attempt() -> Sequence[Write] | None:
        outcomes.clear()
        seen, queue = observe(ctx, table), read_queue(ctx, table)
        hidden = _hidden(ctx, seen, rule)
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
                found = _busy(one.segment, "deleted or restored")
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
    """The record as it was; its address follows when the controller's has changed since."""
    assert kept is not None  # only such were foreseen as possible
    meta = kept.metadata
    url = download_url(ctx, table, kept.segment, meta.crc or 0)
    is_other_place = ctx.deep_store.local_root is None or (meta.download_url or "").startswith("http")
    is_moved = owns_file(ctx, table, meta) and meta.download_url != url and is_other_place
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


def _land(ctx: Context, table: TableName, kept: ArchivedSegment | None) -> None:
    """The file's final name; then the document goes."""
    if kept is None:
        return
    place = ctx.deep_store.file_path(table.raw, kept.segment, kept.metadata.crc or 0)
    staged = _landing_place(ctx, table, kept)
    if staged != place:
        ctx.deep_store.move(staged, place)
    ctx.deep_store.delete(document_path(table, kept.file))


def _unstage(ctx: Context, table: TableName, kept: ArchivedSegment | None, file: str) -> None:
    """Put the file back into the archive."""
    if kept is not None and kept.bytes is not None:
        ctx.deep_store.move(_landing_place(ctx, table, kept), kept_path(table, file))


def settle(
    ctx: Context, table: TableName, broken: Mapping[str, Pending], nodes: Mapping[str, Versioned | None]
) -> dict[str, str]:
    """End restores whose process died: with a row they are ended, without one undone; {segment: what was done}."""
    fates = {}
    ideal = ctx.store.get(paths.ideal_state(table.typed)) if broken else None
    rows: Mapping[str, object] = ideal.record.maps if ideal and ideal.record else {}
    for segment, item in broken.items():
        kept = archive.read_document(ctx, table, item.restores)
        node = nodes[segment]
        is_back = segment in rows and node is not None and node.record is not None
        if (
            is_back
            and kept is not None
            and node is not None
            and node.record is not None
            and _is_same(node.record, kept)
        ):
            _land(ctx, table, kept)
            fates[segment] = "its interrupted restore is ended"
        else:
            _unstage(ctx, table, kept, item.restores)
            fates[segment] = "its interrupted restore is undone, the file is kept for a restore"
    return fates


def _is_same(record: ZNRecord, kept: ArchivedSegment) -> bool:
    return from_record(record).crc == kept.metadata.crc


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


def _remember(ctx: Context, table: TableName, outcomes: Sequence[Outcome], actor: Actor) -> None:
    done = [o.segment for o in outcomes if o.outcome == "done"]
    not_done = {o.segment: o.message for o in outcomes if o.outcome != "done"}
    audit.record(
        actor, "restoreSegments", cluster=ctx.cluster, target=table.typed, outcome="done" if done else "refused",
        segments=done[:100], count=len(done), refused=dict(list(not_done.items())[:100]),
    )  # fmt: skip


def cancel_deletion(ctx: Context, table: TableName, segment: str, *, actor: Actor) -> Outcome:
    """Take one segment off the deletion queue and put it back. NotFound: it is not in the queue; StateConflict: too
    late, or hidden.
    """
    if segment not in read_queue(ctx, table).items:
        raise NotFound(
            f"Segment '{segment}' of table '{table}' does not wait for its deletion.",
            remedy="Restore it from the archive.",
        )
    (outcome,) = restore_segments(ctx, table, [segment], actor=actor)
    if outcome.outcome != "done":
        raise StateConflict(outcome.message, remedy=outcome.remedy, segment=segment)
    return outcome
