"""The state of tables, from the mirror: segments, replicas, sizes, switches."""

from __future__ import annotations

from typing import Final

from segments.metrics.metric_kinds import OF_TABLE, WEB, Gauge

_BY: Final = (WEB,)


def _gauge(name: str, text: str, *pinot: str) -> Gauge:
    return Gauge(name, text, OF_TABLE, pinot, _BY)


SEGMENT_COUNT: Final = _gauge("segment_count", "Segments that queries see.", "segmentCount")
SEGMENT_COUNT_ALL: Final = _gauge(
    "segment_count_including_replaced", "All segments, hidden ones too.", "segmentCountIncludingReplaced"
)
CONSUMING_SEGMENTS: Final = _gauge("consuming_segments", "Segments that a replica should consume.")
COMMITTING_SEGMENTS: Final = _gauge(
    "committing_segment_count", "Segments whose pauseless commit has begun and not ended.", "committingSegmentCount"
)
IN_ERROR: Final = _gauge(
    "segments_in_error_state", "Segments with a replica in ERROR, each once (Pinot counts each such replica).",
    "segmentsInErrorState",
)  # fmt: skip
PAUSELESS_IN_ERROR: Final = _gauge(
    "pauseless_segments_in_error_count", "The same of tables with pauseless consumption.",
    "pauselessSegmentsInErrorCount",
)  # fmt: skip
PAUSELESS_UNRECOVERABLE: Final = _gauge(
    "pauseless_segments_in_unrecoverable_error_count", "Segments being committed of which no replica is served and one"
    " is in ERROR: only the stream has their rows.", "pauselessSegmentsInUnrecoverableErrorCount",
)  # fmt: skip
MISSING_URL: Final = _gauge(
    "segments_missing_download_url", "Segments that are not consuming any more and have no address in the deep store.",
    "segmentsMissingDownloadUrl",
)  # fmt: skip
WITH_LESS_REPLICAS: Final = _gauge(
    "segments_with_less_replicas", "Segments with fewer replicas that serve than wanted.", "segmentsWithLessReplicas"
)
UNAVAILABLE: Final = _gauge("segments_unavailable", "Segments that no replica serves.")
PERCENT_AVAILABLE: Final = _gauge(
    "percent_segments_available", "Segments that a replica serves, in percent.", "percentSegmentsAvailable"
)
PERCENT_OF_REPLICAS: Final = _gauge("percent_of_replicas", "Replicas that serve, in percent.", "percentOfReplicas")
REPLICATION: Final = _gauge("replication_from_config", "Replicas that the table asks for.", "replicationFromConfig")
NUMBER_OF_REPLICAS: Final = _gauge(
    "number_of_replicas", "Replicas that serve of the segment with the fewest, of those that queries see; computed once"
    " a minute.", "numberOfReplicas",
)  # fmt: skip
INVALID_START: Final = _gauge(
    "segments_with_invalid_start_time", "Segments whose first time is before 1971 or after 2071; computed once"
    " a minute.",
    "segmentsWithInvalidStartTime",
)  # fmt: skip
INVALID_END: Final = _gauge(
    "segments_with_invalid_end_time", "The same of their last time.", "segmentsWithInvalidEndTime"
)
MISSING_SEGMENTS: Final = _gauge(
    "missing_segment_count", "Days or hours between the segments of an append table, as its frequency says, of which"
    " there is none; computed once a minute.", "missingSegmentCount",
)  # fmt: skip
OFFLINE_DELAY: Final = _gauge(
    "offline_segment_delay_seconds", "How long ago the newest time of an OFFLINE table's segments is; computed once a"
    " minute.", "offlineSegmentDelayHours",
)  # fmt: skip
LAST_PUSH: Final = _gauge(
    "last_push_time_delay_seconds", "How long ago an OFFLINE table got a segment; computed once a minute.",
    "lastPushTimeDelayHours",
)  # fmt: skip
SIZE: Final = _gauge("table_compressed_size_bytes", "Files of all segments, one copy.", "tableCompressedSize")
ROWS: Final = _gauge("total_document_count", "Rows of committed segments that queries see.", "totalDocumentCount")
PAUSED: Final = _gauge("table_consumption_paused", "1 while the table is paused.", "tableConsumptionPaused")
PAUSED_BY_DISKS: Final = _gauge(
    "resource_utilization_limit_exceeded", "1 while the table is paused because servers' disks are full.",
    "resourceUtilizationLimitExceeded",
)  # fmt: skip
DISABLED: Final = _gauge("table_disabled", "1 while the table is disabled.", "tableDisabled")
PAUSELESS: Final = _gauge(
    "pauseless_consumption_enabled", "1 when the table's config has pauseless consumption.",
    "pauselessConsumptionEnabled",
)  # fmt: skip
