"""Names of the fields of a consumed segment's record, as Pinot writes them."""

from __future__ import annotations

from typing import Final

START_OFFSET: Final = "segment.realtime.startOffset"
END_OFFSET: Final = "segment.realtime.endOffset"
STATUS: Final = "segment.realtime.status"
REPLICAS: Final = "segment.realtime.numReplicas"
FLUSH_ROWS: Final = "segment.flush.threshold.size"
PARTITION_METADATA: Final = "segment.partition.metadata"
