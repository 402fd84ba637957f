"""The engine of a real Apache Pinot: its controller, and SQL to its brokers."""

from __future__ import annotations

from typing import Final

from segments.clusters.pinot import passes
from segments.clusters.pinot.calls import version
from segments.clusters.pinot.connected_engine import PinotEngine
from segments.clusters.pinot.engine.commits import PinotCommitEngine
from segments.clusters.pinot.engine.consumption import PinotConsumptionEngine
from segments.clusters.pinot.engine.instances import PinotInstanceEngine
from segments.clusters.pinot.engine.lineage import PinotLineageEngine
from segments.clusters.pinot.engine.push import PinotPushEngine
from segments.clusters.pinot.engine.rebalance import PinotRebalanceEngine
from segments.clusters.pinot.engine.segments import PinotSegmentEngine
from segments.clusters.pinot.engine.snapshots import PinotSnapshotEngine
from segments.clusters.pinot.engine.tables import PinotTableEngine
from segments.clusters.pinot.fixes import FIXABLE
from segments.domain.pinot.capabilities import lacking
from segments.gateways.pinot import PinotController, PinotSqlBroker
from segments.services.core.context import Context
from segments.services.engine import Offers

__all__ = ["OFFERS", "PinotEngine", "pinot_engine"]

OFFERS: Final = Offers(pass_through=True, minion_tasks=True, own_passes=passes.OF_PINOT, fixable=FIXABLE)


def pinot_engine(controller: PinotController, broker: PinotSqlBroker | None = None) -> PinotEngine:
    """The engine of the cluster behind ``controller``."""
    return PinotEngine(
        kind="pinot",
        offers=OFFERS,
        lacks=_lacks,
        lineage=PinotLineageEngine(),
        segments=PinotSegmentEngine(),
        push=PinotPushEngine(),
        consumption=PinotConsumptionEngine(),
        commits=PinotCommitEngine(),
        tables=PinotTableEngine(),
        instances=PinotInstanceEngine(),
        snapshots=PinotSnapshotEngine(),
        rebalance=PinotRebalanceEngine(),
        controller=controller,
        broker=broker,
    )


def _lacks(ctx: Context, capability: str) -> str:
    return lacking(version(ctx), capability)
