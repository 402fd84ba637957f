"""Wait until live brokers serve a given lineage (B6, B7): the switch is done when they say so, not when it was written."""

from __future__ import annotations

import time

from segments.names import TableName
from segments.services.context import Context
from segments.store import paths
from segments.store.base import Versioned

#: Seconds between two looks: brokers usually answer within a few milliseconds, a slow one is looked at less often.
_FIRST_LOOK_S = 0.001
_SLOWEST_LOOK_S = 0.02
#: After this many seconds it is looked again which brokers are alive: one that died is not waited for.
_RELIST_S = 0.25


def wait_for_brokers(ctx: Context, table: TableName) -> list[str]:
    """Wait until every live broker acknowledged a lineage at least as new as the one that is there now.

    Returns the brokers that did not within ``limits.broker_ack_s``; an empty list means that all queries from now on are right.
    """
    began = listed = time.monotonic()
    brokers = _live_brokers(ctx)
    zxid: int | None = None
    pause = _FIRST_LOOK_S
    while True:
        node, *acks = ctx.store.get_many([paths.lineage(table.typed), *(paths.routing_ack(table.typed, b) for b in brokers)])
        zxid = zxid if zxid is not None else (node.mzxid if node else 0)
        behind = [b for b, ack in zip(brokers, acks, strict=True) if _served(ack) < zxid]
        if not behind or time.monotonic() - began > ctx.limits.broker_ack_s:
            return behind
        time.sleep(pause)
        pause = min(_SLOWEST_LOOK_S, pause * 1.5)
        if time.monotonic() - listed > _RELIST_S:
            brokers, listed = _live_brokers(ctx), time.monotonic()


def _live_brokers(ctx: Context) -> list[str]:
    return [i for i in ctx.store.children(paths.LIVE_INSTANCES) if i.startswith("Broker_")]


def _served(ack: Versioned | None) -> int:
    return int(ack.record.simple.get("lineageZxid", "-1")) if ack and ack.record else -1
