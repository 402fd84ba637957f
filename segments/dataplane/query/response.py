"""Pinot's broker response: the JSON object that every Pinot client reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypedDict, Unpack

from segments.dataplane.query.merge import ResultTable


class Figures(TypedDict, total=False):
    """What is reported of a query along with its answer; times in milliseconds."""

    servers_queried: int
    servers_responded: int
    segments_queried: int
    segments_processed: int
    segments_matched: int
    segments_pruned_by_broker: int
    consuming_segments_queried: int
    min_consuming_freshness_ms: int
    docs_scanned: int
    total_docs: int
    time_used_ms: int
    reduce_time_ms: int
    request_id: str
    client_request_id: str | None
    broker_id: str


#: Pinot's name of each figure and what it is when it is not given; a field without a figure is always that.
_FIELDS: Final[tuple[tuple[str, str, Any], ...]] = (
    ("numGroupsLimitReached", "", False),
    ("numGroupsWarningLimitReached", "", False),
    ("maxRowsInDistinctReached", "", False),
    ("groupsTrimmed", "", False),
    ("timeUsedMs", "time_used_ms", 0),
    ("requestId", "request_id", ""),
    ("clientRequestId", "client_request_id", None),
    ("brokerId", "broker_id", ""),
    ("numDocsScanned", "docs_scanned", 0),
    ("totalDocs", "total_docs", 0),
    ("numEntriesScannedInFilter", "", 0),
    ("numEntriesScannedPostFilter", "", 0),
    ("numServersQueried", "servers_queried", 0),
    ("numServersResponded", "servers_responded", 0),
    ("numSegmentsQueried", "segments_queried", 0),
    ("numSegmentsProcessed", "segments_processed", 0),
    ("numSegmentsMatched", "segments_matched", 0),
    ("numConsumingSegmentsQueried", "consuming_segments_queried", 0),
    ("numConsumingSegmentsProcessed", "consuming_segments_queried", 0),
    ("numConsumingSegmentsMatched", "", 0),
    ("minConsumingFreshnessTimeMs", "min_consuming_freshness_ms", 0),
    ("numSegmentsPrunedByBroker", "segments_pruned_by_broker", 0),
    ("numSegmentsPrunedByServer", "", 0),
    ("numSegmentsPrunedInvalid", "", 0),
    ("numSegmentsPrunedByLimit", "", 0),
    ("numSegmentsPrunedByValue", "", 0),
    ("brokerReduceTimeMs", "reduce_time_ms", 0),
    ("offlineThreadCpuTimeNs", "", 0),
    ("realtimeThreadCpuTimeNs", "", 0),
    ("offlineSystemActivitiesCpuTimeNs", "", 0),
    ("realtimeSystemActivitiesCpuTimeNs", "", 0),
    ("offlineResponseSerializationCpuTimeNs", "", 0),
    ("realtimeResponseSerializationCpuTimeNs", "", 0),
    ("offlineTotalCpuTimeNs", "", 0),
    ("realtimeTotalCpuTimeNs", "", 0),
)


def broker_response(
    result: ResultTable | None,
    *,
    exceptions: Sequence[Mapping[str, Any]] = (),
    partial_result: bool | None = None,
    tables_queried: Sequence[str] = (),
    **figures: Unpack[Figures],
) -> dict[str, Any]:
    """The response (``BrokerResponseNative``); without a result there is no ``resultTable``, as in Pinot.

    ``exceptions`` are ``{"errorCode": int, "message": str}``; ``partial_result`` is true with any of them unless given.
    """
    table = {} if result is None else {"resultTable": _result_table(result)}
    return {
        **table,
        "numRowsResultSet": len(result.rows) if result is not None else 0,
        "partialResult": bool(exceptions) if partial_result is None else partial_result,
        "exceptions": [dict(e) for e in exceptions],
        **{name: figures.get(figure, default) for name, figure, default in _FIELDS},
        "traceInfo": {},
        "tablesQueried": list(tables_queried),
    }


def _result_table(result: ResultTable) -> dict[str, Any]:
    schema = {"columnNames": result.column_names, "columnDataTypes": result.column_types}
    return {"dataSchema": schema, "rows": result.rows}
