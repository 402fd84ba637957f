"""Why a query is refused, with the error code that Pinot's clients expect."""

from __future__ import annotations

from typing import Any, Final

from segments.errors import Rejected

#: Pinot's codes (``QueryErrorCode`` in Pinot).
SQL_PARSING: Final = 150
TABLE_DOES_NOT_EXIST: Final = 190
QUERY_EXECUTION: Final = 200
EXECUTION_TIMEOUT: Final = 250
QUERY_CANCELLED: Final = 503
QUERY_VALIDATION: Final = 700
UNKNOWN_COLUMN: Final = 710


class QueryRejected(Rejected):
    """The query cannot be answered as asked; ``error_code`` is Pinot's code for the reason."""

    def __init__(self, message: str, *, error_code: int = QUERY_VALIDATION, remedy: str = "", **data: Any) -> None:
        super().__init__(message, remedy=remedy, **data)
        self.error_code = error_code
