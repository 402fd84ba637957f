"""Wait until live brokers serve a given lineage (rule `acknowledged-switch`): the switch is done when they say so, not
when it was written. A broker that lost its session a moment ago is waited for, too: it may still answer queries.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from segments.clusters.embedded.connected_engine import connected
from segments.errors import Conflict
from segments.names import TableName
from segments.services.core.context import Context
from segments.store import paths
from segments.store.base import Versioned
from segments.store.change_signal import change_signal
from segments.store.records.brokers import NotedBroker, lost_brokers, strike_off
from segments.store.records.instances import BROKER_PREFIX

log = logging.getLogger(__name__)

#: Seconds between two reads when no watch fired: a lost event delays an answer by no more than this.
_POLL_S = 0.05
#: After this many seconds the brokers are listed again: one that died is not waited for.
_RELIST_S = 0.25


def wait_for_brokers(ctx: Context, table: TableName) -> list[str]:
    """Wait until every broker that may answer queries serves a lineage at least as new as the one that is there now.

    The broker of this process is asked itself, others by their acknowledgements. One without a session is waited for
    for ``limits.broker_back_s``, and struck off then, or at once when its process is dead. Returns the brokers that did
    not within ``limits.broker_ack_s``; an empty list means that all queries from now on are right.
    """
    began = ctx.timer.seconds()
    brokers = _brokers(ctx, began)
    if not brokers:
        return []
    node = ctx.store.get(paths.lineage(table.typed))
    zxid, here = node.mzxid if node else 0, connected(ctx).local_broker()
    if here.broker_id in brokers and here.wait_for(table.typed, zxid, ctx.limits.broker_ack_s):
        served, others = {here.broker_id}, [b for b in brokers if b != here.broker_id]
    else:
        served, others = set(), brokers
    return _wait_for_acks(ctx, table, zxid, others, served, began) if others else []


def _wait_for_acks(
    ctx: Context, table: TableName, zxid: int, brokers: list[str], served: Collection[str], began: float
) -> list[str]:
    """Those of ``brokers``, listed at ``began``, that did not acknowledge ``zxid`` in time; ``served`` is never waited
    for.
    """
    signal, listed = change_signal(ctx.store, paths.ROUTING_ACKS), began
    while True:
        if ctx.timer.seconds() - listed > _RELIST_S:
            brokers, listed = [b for b in _brokers(ctx, began) if b not in served], ctx.timer.seconds()
        heard = signal.count
        acks = ctx.store.get_many(_acks(table, brokers))
        behind = [b for b, ack in zip(brokers, acks, strict=True) if _served(ack) < zxid]
        if not behind or ctx.timer.seconds() - began > ctx.limits.broker_ack_s:
            return behind
        signal.wait(heard, _POLL_S)


def _brokers(ctx: Context, began: float) -> list[str]:
    """The live brokers, and those whose session was lost not long ago; what is sure to answer no more is struck off."""
    instances, noted = ctx.store.children_many([paths.LIVE_INSTANCES, paths.BROKERS])
    live = _brokers_of(instances)
    lost = lost_brokers(ctx.store, live, noted)
    is_over = ctx.timer.seconds() - began > ctx.limits.broker_back_s
    for broker in (gone := [b for b in lost if is_over or b.is_dead]):
        _strike_off(ctx, broker)
    return [*live, *(b.broker for b in lost if b not in gone)]


def _strike_off(ctx: Context, lost: NotedBroker) -> None:
    if not lost.is_dead:
        log.warning(
            "Broker %s (%s) has had no session with ZooKeeper for %.0f s and is no longer waited for. If it runs, it "
            "answers queries from what it knew until it is connected again.",
            lost.broker, lost.process, ctx.limits.broker_back_s,
        )  # fmt: skip
    try:
        strike_off(ctx.store, lost.broker, lost.version)
    except Conflict:
        return  # it is back


def brokers_behind(ctx: Context, table: TableName) -> list[str]:
    """Live brokers that serve an older lineage than the one that is there now; read once, without waiting."""
    brokers = _brokers_of(ctx.store.children(paths.LIVE_INSTANCES))
    node, *acks = ctx.store.get_many([paths.lineage(table.typed), *_acks(table, brokers)])
    return [b for b, ack in zip(brokers, acks, strict=True) if node is not None and _served(ack) < node.mzxid]


def _acks(table: TableName, brokers: list[str]) -> list[str]:
    return [paths.routing_ack(table.typed, b) for b in brokers]


def _brokers_of(instances: Collection[str]) -> list[str]:
    return [i for i in instances if i.startswith(BROKER_PREFIX)]


def _served(ack: Versioned | None) -> int:
    return int(ack.record.simple.get("lineageZxid", "-1")) if ack and ack.record else -1
