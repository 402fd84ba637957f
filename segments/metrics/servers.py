"""What the servers of the embedded cluster read, build, upload and download, and the state of their partitions.

A server belongs to one cluster: ``table`` is the only label that names anything.
"""

from __future__ import annotations

from typing import Final

from segments.metrics.metric_kinds import SERVER, TABLE, Counter, Gauge, Histogram

_PARTITION: Final = (TABLE, "partition")

# -- reading
ROWS_CONSUMED: Final = Counter(
    "realtime_rows_consumed", "Messages read from streams.", pinot=("realtimeRowsConsumed",),
    shown_by=(SERVER,), realtime_only=True,
)  # fmt: skip
ROWS_SET_ASIDE: Final = Counter(
    "invalid_realtime_rows_dropped", "Messages that gave no row and were set aside.",
    pinot=("invalidRealtimeRowsDropped",), shown_by=(SERVER,), realtime_only=True,
)  # fmt: skip
CONSUMPTION_EXCEPTIONS: Final = Counter(
    "realtime_consumption_exceptions", "Reads of a stream that failed and are tried again.",
    pinot=("realtimeConsumptionExceptions",), shown_by=(SERVER,), realtime_only=True,
)  # fmt: skip
STREAM_DATA_LOSS: Final = Counter(
    "llc_stream_data_loss", "Ranges that had left the stream before they were read.", pinot=("llcStreamDataLoss",),
    shown_by=(SERVER,), realtime_only=True,
)  # fmt: skip

# -- committing
PAUSELESS: Final = Gauge(
    "server_pauseless_consumption_enabled", "1 when the next commit of the table on this server is a pauseless one.",
    pinot=("pauselessConsumptionEnabled",), shown_by=(SERVER,),
)  # fmt: skip
SEGMENT_BUILD_FAILURES: Final = Counter(
    "segment_build_failures", "Segments whose rows could not be made a file.",
    pinot=("segmentBuildFailures", "segmentBuildFailure"), shown_by=(SERVER,), realtime_only=True,
)  # fmt: skip
SEGMENT_BUILD_SECONDS: Final = Histogram(
    "segment_build_seconds", "Time to build a segment, without waiting for a free place.",
    pinot=("lastRealtimeSegmentBuildTimeSeconds",), shown_by=(SERVER,),
)  # fmt: skip
SEGMENT_COMMIT_SECONDS: Final = Histogram(
    "segment_commit_seconds", "Time of a commit on its committer: build, upload and both messages.",
    pinot=("lastRealtimeSegmentCompletionDurationSeconds",), shown_by=(SERVER,),
)  # fmt: skip
SEGMENT_COMMITS: Final = Counter(
    "segment_commit_attempts", "Attempts of this server to commit a segment, by outcome: committed or not_committed.",
    (TABLE, "outcome"), shown_by=(SERVER,),
)  # fmt: skip
SEGMENT_UPLOADS: Final = Counter(
    "segment_uploads", "Uploads of built segments, by outcome: success, failure or timeout (it goes on behind).",
    (TABLE, "outcome"), pinot=("segmentUploadSuccess", "segmentUploadFailure", "segmentUploadTimeout"),
    shown_by=(SERVER,),
)  # fmt: skip
SEGMENT_UPLOAD_SECONDS: Final = Histogram(
    "segment_upload_seconds", "Time of an upload that succeeded.", pinot=("segmentUploadTimeMs",), shown_by=(SERVER,)
)

# -- reading a range again
REINGESTIONS: Final = Counter(
    "reingestions", "Segments whose offset range was read from the stream again and uploaded.",
    shown_by=(SERVER,), realtime_only=True,
)  # fmt: skip
REINGESTION_FAILURES: Final = Counter(
    "reingestion_failures", "Jobs that read a segment's range again and failed.",
    pinot=("reingestionFailures", "segmentReingestionFailure"), shown_by=(SERVER,), realtime_only=True,
)  # fmt: skip
REINGESTION_SECONDS: Final = Histogram(
    "reingestion_seconds", "Time of a reingestion that succeeded.", shown_by=(SERVER,)
)

REINGESTING: Final = Gauge(
    "server_reingestions_in_progress", "Reingestions that are queued or under way on this server.", (),
    ("reingestedSegmentUploadsInProgress",), (SERVER,),
)  # fmt: skip

# -- state of each partition
INGESTION_DELAY: Final = Gauge(
    "realtime_ingestion_delay_seconds", "Age of the last consumed message; 0 when the stream has no newer one.",
    _PARTITION, ("realtimeIngestionDelayMs", "endToEndRealtimeIngestionDelayMs"), (SERVER,),
)  # fmt: skip
OFFSET_LAG: Final = Gauge(
    "realtime_ingestion_offset_lag", "Messages of the partition that are not consumed.",
    _PARTITION, ("realtimeIngestionOffsetLag",), (SERVER,),
)  # fmt: skip
UPSTREAM_OFFSET: Final = Gauge(
    "realtime_ingestion_upstream_offset", "Where the partition ends, of streams that count messages by numbers.",
    _PARTITION, ("realtimeIngestionUpstreamOffset",), (SERVER,),
)  # fmt: skip
CONSUMING_OFFSET: Final = Gauge(
    "realtime_ingestion_consuming_offset", "The next message that is consumed, of such streams.",
    _PARTITION, ("realtimeIngestionConsumingOffset",), (SERVER,),
)  # fmt: skip
PARTITION_CONSUMING: Final = Gauge(
    "llc_partition_consuming", "1 while this server reads the partition.", _PARTITION, ("llcPartitionConsuming",),
    (SERVER,),
)  # fmt: skip
CONSUMING_ROWS: Final = Gauge(
    "consuming_segment_rows", "Rows of the consuming segment, in memory.", _PARTITION, shown_by=(SERVER,)
)
CONSUMING_BYTES: Final = Gauge(
    "consuming_segment_bytes", "Memory of the consuming segment.", _PARTITION, shown_by=(SERVER,)
)
ROW_LIMIT: Final = Gauge(
    "num_rows_threshold", "Rows at which the consuming segment ends.", _PARTITION, ("numRowsThreshold",), (SERVER,)
)
COMMITTED_BYTES: Final = Gauge(
    "committing_segment_size_bytes", "Bytes on disk of the newest file that this server has of the partition.",
    _PARTITION, ("committingSegmentSize",), (SERVER,),
)  # fmt: skip
UPSERT_KEYS: Final = Gauge(
    "upsert_primary_keys_count", "Primary keys of the partition of an upsert table, in memory.", _PARTITION,
    ("upsertPrimaryKeysCount",), (SERVER,),
)  # fmt: skip
DEDUP_KEYS: Final = Gauge(
    "dedup_primary_keys_count", "Primary keys of the partition of a dedup table, in memory.", _PARTITION,
    ("dedupPrimaryKeysCount",), (SERVER,),
)  # fmt: skip

# -- segments that it holds
DOWNLOADS: Final = Counter(
    "segment_downloads", "Files of segments that were fetched, by source: deep_store or peer.", (TABLE, "source"),
    shown_by=(SERVER,),
)  # fmt: skip
DOWNLOAD_FAILURES: Final = Counter(
    "segment_download_failures", "Files of segments that could not be fetched or had the wrong CRC, by source.",
    (TABLE, "source"),
    ("segmentDownloadFailures", "segmentDownloadFromRemoteFailures", "segmentDownloadFromPeersFailures"), (SERVER,),
)  # fmt: skip
DOWNLOAD_SECONDS: Final = Histogram(
    "segment_download_seconds", "Time to fetch, unpack and check a file, by source.", (TABLE, "source"),
    shown_by=(SERVER,),
)  # fmt: skip
SEGMENTS: Final = Gauge("server_segments", "Segments of this server by state.", ("state",), shown_by=(SERVER,))
SEGMENT_ROWS: Final = Gauge(
    "server_document_count", "Rows of the files that this server holds.", (TABLE,), ("documentCount",), (SERVER,)
)
SEGMENT_BYTES: Final = Gauge("server_segment_bytes", "Bytes of them on disk.", (TABLE,), shown_by=(SERVER,))
COLUMN_CACHE: Final = Gauge("server_column_cache_bytes", "Bytes of decoded columns.", (), shown_by=(SERVER,))
QUERIES: Final = Counter("server_queries", "Parts of queries that were taken.", (), ("queries",), (SERVER,))
QUERY_FAILURES: Final = Counter(
    "server_query_failures", "Parts of queries that were refused or failed.", (), ("queryExecutionExceptions",),
    (SERVER,),
)  # fmt: skip
