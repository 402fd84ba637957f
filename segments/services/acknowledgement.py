"""Wait until live brokers serve a given lineage (B6, B7): the switch is done when they say so, not when it was written."""

from __future__ import annotations

import time

from segments.names import TableName
from segments.services.context import Context
from segments.store import paths

#: Seconds between two looks: brokers usually answer within a few milliseconds, a slow one is looked at less often.
_FIRST_LOOK_S = 0.001
_SLOWEST_LOOK_S = 0.02


def wait_for_brokers(ctx: Context, table: TableName, zxid: int) -> list[str]:
    """Wait until every live broker acknowledged a lineage at least as new as ``zxid``.

    Returns the brokers that did not within ``limits.broker_ack_s``; an empty list means that all queries from now on are right.
    """
    deadline = time.monotonic() + ctx.limits.broker_ack_s
    pause = _FIRST_LOOK_S
    while True:
        waiting = brokers_behind(ctx, table, zxid)
        if not waiting or time.monotonic() > deadline:
            return waiting
        time.sleep(pause)
        pause = min(_SLOWEST_LOOK_S, pause * 1.5)


def brokers_behind(ctx: Context, table: TableName, zxid: int) -> list[str]:
    """Live brokers that serve an older lineage than ``zxid``."""
    brokers = [i for i in ctx.store.children(paths.LIVE_INSTANCES) if i.startswith("Broker_")]
    acks = ctx.store.get_many([paths.routing_ack(table.typed, b) for b in brokers])
    behind = []
    for broker, ack in zip(brokers, acks, strict=True):
        served = int(ack.record.simple.get("lineageZxid", "-1")) if ack and ack.record else -1
        if served < zxid:
            behind.append(broker)
    return behind
