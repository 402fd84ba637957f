"""What every kind of cluster offers to use cases, by capability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from segments.services.engine.offers import Offers

if TYPE_CHECKING:
    from segments.services.core.context import Context
    from segments.services.engine.commits import CommitEngine
    from segments.services.engine.consumption import ConsumptionEngine
    from segments.services.engine.instances import InstanceEngine
    from segments.services.engine.lineage import LineageEngine
    from segments.services.engine.push import PushEngine
    from segments.services.engine.rebalance import RebalanceEngine
    from segments.services.engine.segments import SegmentEngine
    from segments.services.engine.snapshots import SnapshotEngine
    from segments.services.engine.tables import TableEngine


class Lacks(Protocol):
    """Why a cluster cannot do something."""

    def __call__(self, ctx: Context, capability: str) -> str:
        """A sentence with the reason and what to do instead; empty when the cluster can, or nothing says that it
        cannot.
        """


@dataclass(frozen=True)
class Engine:
    """One kind of cluster. Engines hold no state of a use case: every method gets the context.

    A change decides on what is read in every attempt, is written or sent conditionally, and its outcome is read when an
    answer is lost. Audit records are written by the use case around it.
    """

    #: ``embedded`` or ``pinot``: for labels and documents, never to decide.
    kind: str
    offers: Offers
    lacks: Lacks
    lineage: LineageEngine
    segments: SegmentEngine
    push: PushEngine
    consumption: ConsumptionEngine
    commits: CommitEngine
    tables: TableEngine
    instances: InstanceEngine
    snapshots: SnapshotEngine
    rebalance: RebalanceEngine
