"""Operations about queries.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from typing import Any

from pinotadmin_client.generated import models
from pinotadmin_client.transport import Transport


class Queries:
    """Operations about queries."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def run(
        self, *, sql: str | None = None, query_options: str | dict[str, Any] | None = None, reason: str | None = None
    ) -> models.QueryAnswer:
        """Run a query with its text in the body.

        The query in the body: {"sql": ..., "queryOptions": "a=b;c=d"}.
        """
        return self._transport.send(
            "POST", "/query/sql", models.QueryAnswer, body={"sql": sql, "queryOptions": query_options}, reason=reason
        )
