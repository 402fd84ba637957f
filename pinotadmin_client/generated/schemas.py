"""Operations about schemas.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pinotadmin_client.generated import models
from pinotadmin_client.transport import Transport


class Schemas:
    """Operations about schemas."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def names(self) -> list[Any]:
        """List the schemas.

        Names, sorted; those that the asker may read.
        """
        return self._transport.send("GET", "/schemas", list[Any])

    def get(self, schema: str) -> dict[str, Any]:
        """Read a schema.

        The schema's JSON.
        """
        return self._transport.send("GET", "/schemas/{schema}", dict[str, Any], names={"schema": schema})

    def create(
        self,
        body: Mapping[str, Any],
        *,
        force: bool | None = None,
        override: bool | None = None,
        reason: str | None = None,
    ) -> models.SchemaChanged:
        """Create a schema.

        Create or, unless override=false, change a schema.
        """
        return self._transport.send(
            "POST",
            "/schemas",
            models.SchemaChanged,
            query={"force": force, "override": override},
            body=body,
            reason=reason,
        )

    def update(self, schema: str, body: Mapping[str, Any], *, reason: str | None = None) -> models.SchemaChanged:
        """Change a schema.

        Add columns.
        """
        return self._transport.send(
            "PUT", "/schemas/{schema}", models.SchemaChanged, names={"schema": schema}, body=body, reason=reason
        )

    def delete(self, schema: str, *, reason: str | None = None) -> models.Status:
        """Delete a schema.

        Delete a schema that no table uses.
        """
        return self._transport.send(
            "DELETE", "/schemas/{schema}", models.Status, names={"schema": schema}, reason=reason
        )
