"""The engine of the embedded cluster."""

from __future__ import annotations

from typing import Final

from segments.clusters.embedded.engine.consumption import EmbeddedConsumptionEngine
from segments.clusters.embedded.engine.instances import EmbeddedInstanceEngine
from segments.clusters.embedded.engine.lineage import EmbeddedLineageEngine
from segments.clusters.embedded.engine.push import EmbeddedPushEngine
from segments.clusters.embedded.engine.rebalance import EmbeddedRebalanceEngine
from segments.clusters.embedded.engine.segments import EmbeddedSegmentEngine
from segments.clusters.embedded.engine.snapshots import EmbeddedSnapshotEngine
from segments.clusters.embedded.engine.tables import EmbeddedTableEngine
from segments.clusters.embedded.realtime.fixes import FIXABLE
from segments.services.core.context import Context
from segments.services.engine import Engine, Offers

__all__ = ["EMBEDDED"]


def _lacks(ctx: Context, capability: str) -> str:
    return ""


#: It has no parts of its own besides those of the context, so one is enough for all clusters.
EMBEDDED: Final = Engine(
    kind="embedded",
    offers=Offers(own_processes=True, own_upkeep=True, set_aside=True, fixable=FIXABLE),
    lacks=_lacks,
    lineage=EmbeddedLineageEngine(),
    segments=EmbeddedSegmentEngine(),
    push=EmbeddedPushEngine(),
    consumption=EmbeddedConsumptionEngine(),
    tables=EmbeddedTableEngine(),
    instances=EmbeddedInstanceEngine(),
    snapshots=EmbeddedSnapshotEngine(),
    rebalance=EmbeddedRebalanceEngine(),
)
