"""Deletion on the embedded cluster: out of the ideal state into a queue in ZooKeeper, then file and record.

Nothing is lost by a restart (rule `deletion-last`): the row leaves the ideal state in the transaction that queues the
segment, and a queue item goes only when its file is archived with its record.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from segments.clusters.embedded.segments import copies_before_deletion, restored_files
from segments.clusters.embedded.segments.deletion_queue import claim_due, forget
from segments.clusters.embedded.segments.leaving import leave
from segments.domain.formats.plural import counted
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments.archive import Outcome
from segments.domain.segments.pending_deletion import CLAIM_MS, Pending
from segments.errors import NotFound, PinotAdminError
from segments.metrics import replacement as metrics
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.engine.segments import Deletion
from segments.services.replacement.lineage_record import observe
from segments.services.segments import archive
from segments.services.segments.deletion_guard import blocked, decide, guarded, is_exclusive
from segments.services.segments.last_copies import only_on_servers
from segments.services.tables.table_record import read_table_config
from segments.store import paths
from segments.store.base import Versioned, Write
from segments.store.update import update_transaction

log = logging.getLogger(__name__)

#: Segments whose files are archived under one claim; a claim must not run out meanwhile.
_BATCH: Final = 200
_CLAIM_USED_S: Final = CLAIM_MS / 1000 / 2


def remove(
    ctx: Context, table: TableName, segments: Sequence[str], *, retention: str | None, actor: Actor, guard: bool,
    force: bool,
) -> list[str]:  # fmt: skip
    """As ``SegmentEngine.remove``. What only servers have is copied into the deep store first; StateConflict where
    that fails, unless ``force`` says that it may be lost.
    """
    failed, exclusive = copies_before_deletion.copy_to_store(ctx, table, segments), is_exclusive(ctx)

    def attempt() -> Sequence[Write] | None:
        seen = observe(ctx, table)
        locked = sorted(set(segments) & guarded(seen, exclusive=exclusive)) if guard else []
        if locked:
            metrics.BLOCKED_DELETES.add(ctx.cluster, table.typed)
            raise blocked(table, locked)
        if lost := _lost(ctx, table, segments, failed, force):
            raise copies_before_deletion.lost(table, lost)
        return leave(ctx, table, seen, [s for s in dict.fromkeys(segments) if s in seen.ideal.maps], retention, actor)

    update_transaction(ctx.store, attempt, turn=table.typed)
    return sorted(set(failed) & set(segments))


def delete(
    ctx: Context, table: TableName, segments: Sequence[str], *, retention: str | None, dry_run: bool, force: bool,
    actor: Actor,
) -> Deletion:  # fmt: skip
    """As ``SegmentEngine.delete``, in one transaction."""
    outcomes: dict[str, Outcome] = {}
    failed = {} if dry_run else copies_before_deletion.copy_to_store(ctx, table, segments)
    exclusive = is_exclusive(ctx)

    def attempt() -> Sequence[Write] | None:
        seen = observe(ctx, table)
        lost = {} if dry_run else _lost(ctx, table, segments, failed, force)
        outcomes.update(decide(seen, segments, failed, exclusive=exclusive))
        outcomes.update(
            {s: copies_before_deletion.refusal(s, why) for s, why in lost.items() if outcomes[s].outcome == "done"}
        )
        leaving = [s for s, o in outcomes.items() if o.outcome == "done"]
        return None if dry_run else leave(ctx, table, seen, leaving, retention, actor)

    update_transaction(ctx.store, attempt, turn=table.typed)
    return Deletion(list(outcomes.values()), sorted(s for s in failed if outcomes[s].outcome == "done"))


def _lost(
    ctx: Context, table: TableName, segments: Sequence[str], failed: Mapping[str, str], force: bool
) -> dict[str, str]:
    """{segment: why} of those that a deletion would lose: not copied, or on servers only since then."""
    if force:
        return {}
    return {s: failed.get(s, "it was committed just now.") for s in only_on_servers(ctx, table, segments)}


def drain(ctx: Context, table: TableName) -> list[str]:
    """As ``SegmentEngine.drain``."""
    fates: dict[str, list[str]] = defaultdict(list)
    while claimed := claim_due(ctx, table, ctx.new_id(), _BATCH):
        done = _settle(ctx, table, claimed, ctx.timer.seconds() + _CLAIM_USED_S)
        for segment, fate in done.items():
            fates[fate].append(segment)
        if len(done) < len(claimed) or len(claimed) < _BATCH:
            break
    return [_sentence(table, fate, segments) for fate, segments in fates.items()]


def _settle(ctx: Context, table: TableName, claimed: Mapping[str, Pending], deadline: float) -> dict[str, str]:
    """Files first, then records and queue items together; {segment: what was done}. Files are moved until ``deadline``
    (monotonic).
    """
    nodes = dict(zip(claimed, ctx.store.get_many([paths.segment(table.typed, s) for s in claimed]), strict=True))
    broken = {s: p for s, p in claimed.items() if p.restores}
    fates = restored_files.settle(ctx, table, broken, nodes)
    gone = [(p, _record(nodes[s])) for s, p in claimed.items() if s not in broken]
    archived = archive.keep_all(ctx, table, gone, _own_term(ctx, table), deadline) if gone else {}
    token = next(iter(claimed.values())).claim
    forget(ctx, table, token, [*fates, *archived], with_records=set(archived))
    return {**fates, **archived}


def _record(node: Versioned | None) -> ZNRecord | None:
    return node.record if node else None


def _own_term(ctx: Context, table: TableName) -> str | None:
    try:
        return read_table_config(ctx, table).deleted_retention
    except NotFound:
        return None  # the table is just being dropped: the cluster's own time holds
    except PinotAdminError:
        log.exception(
            "The config of %s cannot be read; files of deleted segments are kept for the cluster's time.", table
        )
        return None


def _sentence(table: TableName, fate: str, segments: Sequence[str]) -> str:
    if len(segments) == 1:
        return f"Segment {segments[0]} of {table}: {fate}."
    return f"{counted(len(segments), 'segment')} of {table}, e.g. {segments[0]}: {fate}."
