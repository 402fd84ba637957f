"""Models of queries.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field


class DataSchema(Struct, frozen=True, kw_only=True):
    """Columns of a result."""

    column_names: list[str] = field(name="columnNames")
    column_data_types: list[str] = field(name="columnDataTypes")


class QueryAnswer(Struct, frozen=True, kw_only=True):
    """Pinot's answer to a query; ``resultTable`` is missing where it failed, and ``exceptions`` say why."""

    exceptions: list[QueryProblem]
    result_table: ResultTable | None = field(default=None, name="resultTable")
    time_used_ms: int | None = field(default=None, name="timeUsedMs")
    num_docs_scanned: int | None = field(default=None, name="numDocsScanned")
    total_docs: int | None = field(default=None, name="totalDocs")


class QueryProblem(Struct, frozen=True, kw_only=True):
    """Why a query, or a part of it, failed; the codes are Pinot's."""

    error_code: int = field(name="errorCode")
    message: str


class ResultTable(Struct, frozen=True, kw_only=True):
    """Rows of a result."""

    data_schema: DataSchema = field(name="dataSchema")
    rows: list[list[Any]]
