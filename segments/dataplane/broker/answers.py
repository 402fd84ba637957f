"""Answers without rows: Pinot's broker response with an exception, for every way in which a query can fail."""

from __future__ import annotations

from typing import Any, Final

#: Pinot's query error codes.
TABLE_DOES_NOT_EXIST: Final = 190
QUERY_EXECUTION: Final = 200
SEGMENTS_UNAVAILABLE: Final = 305
BROKER_TIMEOUT: Final = 400
INTERNAL: Final = 450
UNKNOWN_COLUMN: Final = 710

_NAMES: Final = {
    150: "SQLParsingError",
    TABLE_DOES_NOT_EXIST: "TableDoesNotExistError",
    QUERY_EXECUTION: "QueryExecutionError",
    250: "ExecutionTimeoutError",
    SEGMENTS_UNAVAILABLE: "BrokerSegmentUnavailableError",
    BROKER_TIMEOUT: "BrokerTimeoutError",
    INTERNAL: "InternalError",
    503: "QueryCancellationError",
    700: "QueryValidationError",
    UNKNOWN_COLUMN: "UnknownColumnError",
}
#: Names in an error message; the rest is counted.
_SHOWN: Final = 5


def name_some(names: list[str]) -> str:
    """``a, b and 7 more``."""
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def exception_entry(code: int, message: str) -> dict[str, Any]:
    """One item of ``exceptions``."""
    return {"errorCode": code, "message": f"{_NAMES.get(code, 'QueryExecutionError')}:\n{message}"}
