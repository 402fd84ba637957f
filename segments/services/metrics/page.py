"""The whole page of the control plane, as a web process answers it."""

from __future__ import annotations

from segments.metrics.exposition import Collector, RecordedValues, render
from segments.metrics.metric_kinds import CONTROL
from segments.services.metrics.installation import ClusterStates, FindingCounts
from segments.services.metrics.lineage import LineageStates
from segments.services.metrics.partitions import MissingConsumers, PartitionLags
from segments.services.metrics.tables import TableStates, existing_tables


def control_page(*more: Collector) -> bytes:
    """What processes of the control plane recorded, the state of tables, partitions and the installation, and
    ``more``.
    """
    states = (TableStates(), LineageStates(), PartitionLags(), MissingConsumers(), ClusterStates(), FindingCounts())
    return render(RecordedValues(CONTROL, existing_tables), *states, *more)
