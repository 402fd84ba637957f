"""Pinot's SQL over Arrow: planned alike by broker and servers, run in parts by servers, merged by the broker. No
network here.
"""

from segments.dataplane.query.arrow.row_mask import RowMask
from segments.dataplane.query.merge import ResultTable, merge
from segments.dataplane.query.partial import PartialResult, execute_partial
from segments.dataplane.query.plan import QueryPlan, plan_query, shows_all_rows
from segments.dataplane.query.query_warm_up import warm_up, warm_up_soon
from segments.dataplane.query.response import broker_response
from segments.dataplane.query.scan import SegmentRows
from segments.dataplane.query.sql.parse import table_of
from segments.dataplane.query.wire import decode_partial, encode_partial
from segments.expressions.query_errors import QueryRejected

__all__ = [
    "PartialResult",
    "QueryPlan",
    "QueryRejected",
    "ResultTable",
    "RowMask",
    "SegmentRows",
    "broker_response",
    "decode_partial",
    "encode_partial",
    "execute_partial",
    "merge",
    "plan_query",
    "shows_all_rows",
    "table_of",
    "warm_up",
    "warm_up_soon",
]
