"""Consumption as the control plane sees it: commits, repairs, and how far partitions are behind."""

from __future__ import annotations

from typing import Final

from segments.metrics.metric_kinds import CLUSTER, OF_TABLE, WEB, WORKER, Counter, Gauge

_OF_PARTITION: Final = (*OF_TABLE, "partition")

# -- commits
COMPLETION_MESSAGES: Final = Counter(
    "segment_completion_messages", "Messages of servers about ending segments, by message and answer.",
    ("message", "answer"), ("llcControllerResponse",), (WEB,),
)  # fmt: skip
SEGMENTS_COMMITTED: Final = Counter(
    "segments_committed", "Segments whose commit is on record.", OF_TABLE, shown_by=(WEB,), realtime_only=True
)
COMMITS_REFUSED: Final = Counter(
    "llc_zookeeper_update_failures", "Steps of commits that could not be written, or that the record refuses.",
    OF_TABLE, pinot=("llcZookeeperUpdateFailures",), shown_by=(WEB,), realtime_only=True,
)  # fmt: skip
FETCH_FAILURES: Final = Counter(
    "llc_zookeeper_fetch_failures", "Messages of servers about ending segments that were not answered, because"
    " ZooKeeper did not answer; servers repeat them.", OF_TABLE, pinot=("llcZookeeperFetchFailures",), shown_by=(WEB,),
    realtime_only=True,
)  # fmt: skip
LOWERED_LIMITS: Final = Counter(
    "segment_size_auto_reduction", "Row limits that were halved because a segment could not be built.", OF_TABLE,
    pinot=("segmentSizeAutoReduction",), shown_by=(WEB,), realtime_only=True,
)  # fmt: skip
MISSING_DEEP_STORE_LINK: Final = Counter(
    "segment_missing_deep_store_link", "Segments that were committed while only servers had their file.", OF_TABLE,
    pinot=("segmentMissingDeepStoreLink",), shown_by=(WEB,), realtime_only=True,
)  # fmt: skip

# -- repairs
DEEP_STORE_UPLOAD_RETRIES: Final = Counter(
    "llc_segments_deep_store_upload_retry", "Copies to the deep store of segments that only servers had, by outcome:"
    " success or error.", (*OF_TABLE, "outcome"),
    ("llcSegmentsDeepStoreUploadRetrySuccess", "llcSegmentsDeepStoreUploadRetryError"), (WEB, WORKER),
)  # fmt: skip
CONSUMPTION_DATA_LOSS: Final = Counter(
    "consumption_data_loss", "Ranges that had left the stream when consumption was resumed or repaired.", OF_TABLE,
    pinot=("llcStreamDataLoss",), shown_by=(WEB, WORKER), realtime_only=True,
)  # fmt: skip
SKIPPED_OFFSETS: Final = Counter(
    "offset_auto_reset_skipped_offsets", "Messages that were skipped, as the table's stream config asks for, because a"
    " partition was too far behind; of a stream whose offsets do not number them at most 10,000 of each skip.",
    OF_TABLE, pinot=("offsetAutoResetSkippedOffsets",), shown_by=(WEB, WORKER), realtime_only=True,
)  # fmt: skip
PARTITION_FETCH_ERRORS: Final = Counter(
    "partition_group_metadata_fetch_error", "Streams that did not say which partitions and offsets they have, when"
    " consumption was begun, validated or resumed.", (CLUSTER,), ("partitionGroupMetadataFetchError",),
    (WEB, WORKER),
)  # fmt: skip
REPAIRS: Final = Counter(
    "consumption_repairs", "Changes that the validation of consumption made.", OF_TABLE, shown_by=(WEB, WORKER),
    realtime_only=True,
)  # fmt: skip
REINGESTIONS_STARTED: Final = Counter(
    "reingestions_started", "Reingestions that servers were asked to run, by a pass or a person.", OF_TABLE,
    shown_by=(WEB, WORKER), realtime_only=True,
)  # fmt: skip

# -- state of tables and partitions, from the mirror
MAX_RECORDS_LAG: Final = Gauge(
    "max_records_lag", "Messages that the slowest replica has not consumed, at the last sample.", _OF_PARTITION,
    ("maxRecordsLag",), (WEB,),
)  # fmt: skip
MAX_AVAILABILITY_LAG: Final = Gauge(
    "max_record_availability_lag_seconds", "Age of the last consumed message on the slowest replica, at the last"
    " sample.", _OF_PARTITION, ("maxRecordAvailabilityLagMs",), (WEB,),
)  # fmt: skip
MISSING_CONSUMING: Final = Gauge(
    "missing_consuming_segment_total_count", "Partitions that nothing consumes although the table is not paused.",
    OF_TABLE, ("missingConsumingSegmentTotalCount",), (WEB,),
)  # fmt: skip
MISSING_LONGEST: Final = Gauge(
    "missing_consuming_segment_max_duration_seconds", "Longest time since the last segment was created of a partition"
    " that nothing consumes; 0 when there is none.", OF_TABLE, ("missingConsumingSegmentMaxDurationMinutes",), (WEB,),
)  # fmt: skip
