"""Pinot's broker response: the JSON object that every Pinot client reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from segments.dataplane.query.merge import ResultTable


def broker_response(
    result: ResultTable | None,
    *,
    exceptions: Sequence[Mapping[str, Any]] = (),
    servers_queried: int = 0,
    servers_responded: int = 0,
    segments_queried: int = 0,
    segments_processed: int = 0,
    segments_matched: int = 0,
    segments_pruned_by_broker: int = 0,
    consuming_segments_queried: int = 0,
    min_consuming_freshness_ms: int = 0,
    docs_scanned: int = 0,
    total_docs: int = 0,
    time_used_ms: int = 0,
    reduce_time_ms: int = 0,
    request_id: str = "",
    client_request_id: str | None = None,
    broker_id: str = "",
    partial_result: bool | None = None,
    tables_queried: Sequence[str] = (),
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
        "numGroupsLimitReached": False,
        "numGroupsWarningLimitReached": False,
        "maxRowsInDistinctReached": False,
        "groupsTrimmed": False,
        "timeUsedMs": time_used_ms,
        "requestId": request_id,
        "clientRequestId": client_request_id,
        "brokerId": broker_id,
        "numDocsScanned": docs_scanned,
        "totalDocs": total_docs,
        "numEntriesScannedInFilter": 0,
        "numEntriesScannedPostFilter": 0,
        "numServersQueried": servers_queried,
        "numServersResponded": servers_responded,
        "numSegmentsQueried": segments_queried,
        "numSegmentsProcessed": segments_processed,
        "numSegmentsMatched": segments_matched,
        "numConsumingSegmentsQueried": consuming_segments_queried,
        "numConsumingSegmentsProcessed": consuming_segments_queried,
        "numConsumingSegmentsMatched": 0,
        "minConsumingFreshnessTimeMs": min_consuming_freshness_ms,
        "numSegmentsPrunedByBroker": segments_pruned_by_broker,
        "numSegmentsPrunedByServer": 0,
        "numSegmentsPrunedInvalid": 0,
        "numSegmentsPrunedByLimit": 0,
        "numSegmentsPrunedByValue": 0,
        "brokerReduceTimeMs": reduce_time_ms,
        "offlineThreadCpuTimeNs": 0,
        "realtimeThreadCpuTimeNs": 0,
        "offlineSystemActivitiesCpuTimeNs": 0,
        "realtimeSystemActivitiesCpuTimeNs": 0,
        "offlineResponseSerializationCpuTimeNs": 0,
        "realtimeResponseSerializationCpuTimeNs": 0,
        "offlineTotalCpuTimeNs": 0,
        "realtimeTotalCpuTimeNs": 0,
        "traceInfo": {},
        "tablesQueried": list(tables_queried),
    }


def _result_table(result: ResultTable) -> dict[str, Any]:
    schema = {"columnNames": result.column_names, "columnDataTypes": result.column_types}
    return {"dataSchema": schema, "rows": result.rows}
