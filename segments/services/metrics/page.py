"""The whole page of the control plane, as a web process answers it."""

from __future__ import annotations

from typing import Final

from segments.metrics.exposition import Collector, RecordedValues, render
from segments.metrics.metric_kinds import CONTROL
from segments.services.metrics.installation import ClusterStates, FindingCounts
from segments.services.metrics.lineage import LineageStates
from segments.services.metrics.partitions import MissingConsumers, PartitionLags
from segments.services.metrics.segments import SegmentTimes
from segments.services.metrics.tables import TableStates, existing_tables

_SEGMENT_TIMES: Final = SegmentTimes()


def control_page(*more: Collector) -> bytes:
    """What processes of the control plane recorded, the state of tables, partitions and the installation, and
    ``more``.
    """
    states = (
        TableStates(), _SEGMENT_TIMES, LineageStates(), PartitionLags(), MissingConsumers(), ClusterStates(),
        FindingCounts(),
    )  # fmt: skip
    return render(RecordedValues(CONTROL, existing_tables), *states, *more)
