"""The durable queue of a table's deletions (rule `deletion-last`): one record in ZooKeeper, ``{segment: what is to be
done and who is doing it}``.

A name in the queue belongs to whoever claimed it: uploads of that name wait (``release_name``), and a claim that
outlived its process is taken over. The same claims guard a restore while it moves a file back, so a restore that dies
is undone by the next drain.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments.pending_deletion import Pending, pending_of
from segments.errors import StateConflict
from segments.names import TableName
from segments.services.core.context import SYSTEM, Actor, Context
from segments.store import paths
from segments.store.base import Check, Create, Delete, Replace, Versioned, Write
from segments.store.update import update_record, update_transaction


@dataclass(frozen=True)
class Queue:
    """The queue as read, with its version."""

    table: TableName
    node: Versioned | None
    items: Mapping[str, Pending]

    def write(self, *, put: Iterable[Pending] = (), without: Collection[str] = ()) -> Write:
        """The conditional write that adds or replaces items and removes names."""
        base = self.node.record if self.node and self.node.record else ZNRecord(self.table.typed)
        maps = {s: i for s, i in base.maps.items() if s not in without}
        record = replace(base, maps={**maps, **{p.segment: p.to_map() for p in put}})
        path = paths.pending_deletions(self.table.typed)
        return Create(path, record) if self.node is None else Replace(path, record, self.node.version)


def read_queue(ctx: Context, table: TableName) -> Queue:
    """The queue of a table, empty when there is none."""
    node = ctx.store.get(paths.pending_deletions(table.typed))
    maps = node.record.maps if node and node.record else {}
    return Queue(table, node, {s: pending_of(s, i) for s, i in maps.items()})


def queue_write(
    ctx: Context,
    table: TableName,
    segments: Sequence[str],
    *,
    retention: str | None,
    actor: Actor = SYSTEM,
    rows: Mapping[str, Mapping[str, str]] | None = None,
) -> Write:
    """The conditional write that queues segments; ``rows`` of the ideal state name the servers that held them, for a
    restore.
    """
    held = rows or {}
    now = ctx.clock()
    put = [Pending(s, now, retention, actor.name, actor.reason, tuple(held.get(s, ()))) for s in segments]
    return read_queue(ctx, table).write(put=put)


def release_name(ctx: Context, table: TableName, segment: str, *, wait_s: float = 10.0) -> None:
    """Before a segment's file is written: take its name off the queue, or wait until what is under way with it is
    through.

    A restore that died is under way until a drain has undone it. Raises StateConflict when that does not finish.
    """
    deadline = ctx.timer.seconds() + wait_s
    while True:
        item = read_queue(ctx, table).items.get(segment)
        if item is None:
            return
        if not item.is_claimed(ctx.clock()) and not item.restores:
            _forget_unclaimed(ctx, table, segment)
            continue
        if ctx.timer.seconds() > deadline:
            what = "restored" if item.restores else "deleted"
            raise StateConflict(
                f"Segment '{segment}' of table '{table}' is just being {what}.", remedy="Try again in a minute."
            )
        ctx.timer.pause(0.05)


def _forget_unclaimed(ctx: Context, table: TableName, segment: str) -> None:
    def decide(node: Versioned | None) -> ZNRecord | None:
        item = node.record.maps.get(segment) if node and node.record else None
        if node is None or node.record is None or item is None or pending_of(segment, item).is_claimed(ctx.clock()):
            return None
        return replace(node.record, maps={s: i for s, i in node.record.maps.items() if s != segment})

    update_record(ctx.store, paths.pending_deletions(table.typed), decide)


def claim_due(ctx: Context, table: TableName, token: str, most: int) -> dict[str, Pending]:
    """Mark up to ``most`` items as ours: those out of ideal state and external view, and restores that died half-way.

    A deletion whose name came back into the ideal state leaves the queue.
    """
    claimed: dict[str, Pending] = {}

    def attempt() -> Sequence[Write] | None:
        claimed.clear()
        queue = read_queue(ctx, table)
        if not queue.items:
            return None
        ideal, view = ctx.store.get_many([paths.ideal_state(table.typed), paths.external_view(table.typed)])
        wanted = ideal.record.maps if ideal and ideal.record else {}
        served = view.record.maps if view and view.record else {}
        now = ctx.clock()
        free = {s: p for s, p in queue.items.items() if not p.is_claimed(now)}
        back = [s for s, p in free.items() if s in wanted and not p.restores]
        due = [p for s, p in free.items() if (s not in served and s not in wanted) or (p.restores and s in wanted)][
            :most
        ]
        claimed.update({p.segment: replace(p, claimed_ms=now, claim=token) for p in due})
        if not claimed and not back:
            return None
        checks = [Check(paths.ideal_state(table.typed), ideal.version)] if ideal else []
        return [queue.write(put=claimed.values(), without=back), *checks]

    update_transaction(ctx.store, attempt)
    return claimed


def forget(ctx: Context, table: TableName, token: str, segments: Sequence[str], *, with_records: set[str]) -> None:
    """Take items off the queue that are still claimed by ``token``, together with the records of those in
    ``with_records``.
    """

    def attempt() -> Sequence[Write] | None:
        queue = read_queue(ctx, table)
        ours = [s for s in segments if s in queue.items and queue.items[s].claim == token]
        doomed = [s for s in ours if s in with_records]
        nodes = ctx.store.get_many([paths.segment(table.typed, s) for s in doomed])
        records = [
            Delete(paths.segment(table.typed, s), n.version)
            for s, n in zip(doomed, nodes, strict=True)
            if n is not None
        ]
        return [queue.write(without=set(ours)), *records] if ours else None

    update_transaction(ctx.store, attempt)
