"""The engine of the embedded cluster: its store, HTTP to its servers, and the broker of this process."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from segments.clusters.embedded.connected_engine import EmbeddedEngine, LocalBroker
from segments.clusters.embedded.engine.commits import EmbeddedCommitEngine
from segments.clusters.embedded.engine.consumption import EmbeddedConsumptionEngine
from segments.clusters.embedded.engine.instances import EmbeddedInstanceEngine
from segments.clusters.embedded.engine.lineage import EmbeddedLineageEngine
from segments.clusters.embedded.engine.push import EmbeddedPushEngine
from segments.clusters.embedded.engine.rebalance import EmbeddedRebalanceEngine
from segments.clusters.embedded.engine.segments import EmbeddedSegmentEngine
from segments.clusters.embedded.engine.snapshots import EmbeddedSnapshotEngine
from segments.clusters.embedded.engine.tables import EmbeddedTableEngine
from segments.clusters.embedded.realtime.fixes import FIXABLE
from segments.gateways.servers import Servers
from segments.services.core.context import Context
from segments.services.engine import Offers
from segments.services.engine.snapshots import SnapshotReader

__all__ = ["OFFERS", "embedded_engine"]

OFFERS: Final = Offers(own_processes=True, own_upkeep=True, set_aside=True, reads_streams=True, fixable=FIXABLE)


def _lacks(ctx: Context, capability: str) -> str:
    return ""


def embedded_engine(
    servers: Servers,
    read_snapshots: Callable[[str], AbstractContextManager[SnapshotReader]],
    local_broker: Callable[[], LocalBroker],
) -> EmbeddedEngine:
    """The engine of the embedded cluster as one process reaches it."""
    return EmbeddedEngine(
        kind="embedded",
        offers=OFFERS,
        lacks=_lacks,
        lineage=EmbeddedLineageEngine(),
        segments=EmbeddedSegmentEngine(),
        push=EmbeddedPushEngine(),
        consumption=EmbeddedConsumptionEngine(),
        commits=EmbeddedCommitEngine(),
        tables=EmbeddedTableEngine(),
        instances=EmbeddedInstanceEngine(),
        snapshots=EmbeddedSnapshotEngine(),
        rebalance=EmbeddedRebalanceEngine(),
        servers=servers,
        read_snapshots=read_snapshots,
        local_broker=local_broker,
    )
