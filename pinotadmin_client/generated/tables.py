"""Operations about tables.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pinotadmin_client.generated import models
from pinotadmin_client.transport import Transport


class Tables:
    """Operations about tables."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def names(self, *, type_: str | None = None) -> models.TableNames:
        """List the tables.

        Raw names, or typed names when a type is given; those that the asker may read.
        """
        return self._transport.send("GET", "/tables", models.TableNames, query={"type": type_})

    def get(self, table: str, *, type_: str | None = None) -> dict[str, Any]:
        """Read the config of a table.

        {type: config} for each type that exists; secrets are masked (``*****``).
        """
        return self._transport.send(
            "GET", "/tables/{table}", dict[str, Any], names={"table": table}, query={"type": type_}
        )

    def create(
        self, body: Mapping[str, Any], *, watermarks: str | None = None, reason: str | None = None
    ) -> models.TableChanged:
        """Create a table.

        Create a table; its schema must be there.

        ``watermarks``: the JSON list that ``consumerWatermarks`` of another table answered; each partition of a
        REALTIME table that it names goes on with that sequence number at that offset.
        """
        return self._transport.send(
            "POST", "/tables", models.TableChanged, query={"watermarks": watermarks}, body=body, reason=reason
        )

    def validate(self, body: Mapping[str, Any], *, reason: str | None = None) -> dict[str, Any]:
        """Validate a table config.

        {type: config} as understood, or 400 with the fault.
        """
        return self._transport.send("POST", "/tables/validate", dict[str, Any], body=body, reason=reason)

    def validate_configs(
        self,
        *,
        table_name: str | None = None,
        schema: dict[str, Any] | None = None,
        offline: dict[str, Any] | None = None,
        realtime: dict[str, Any] | None = None,
        reason: str | None = None,
    ) -> dict[str, Any]:
        """Validate a schema and the configs of its tables.

        ``tableName``, ``schema``, and ``offline``, ``realtime`` or both, as understood, or 400 with the fault. The
        schema need not be there, and a stored one does not count.
        """
        return self._transport.send(
            "POST",
            "/tableConfigs/validate",
            dict[str, Any],
            body={"tableName": table_name, "schema": schema, "offline": offline, "realtime": realtime},
            reason=reason,
        )

    def update(self, table: str, body: Mapping[str, Any], *, reason: str | None = None) -> models.TableChanged:
        """Change the config of a table.

        Change the config. What is masked in it stays as it is stored.
        """
        return self._transport.send(
            "PUT", "/tables/{table}", models.TableChanged, names={"table": table}, body=body, reason=reason
        )

    def delete(
        self,
        table: str,
        *,
        force: bool | None = None,
        retention: str | None = None,
        type_: str | None = None,
        reason: str | None = None,
    ) -> models.Status:
        """Delete a table.

        Drop the table; of a hybrid one both halves unless a type is given.
        """
        return self._transport.send(
            "DELETE",
            "/tables/{table}",
            models.Status,
            names={"table": table},
            query={"force": force, "retention": retention, "type": type_},
            reason=reason,
        )

    def state(self, table: str, *, type_: str | None = None) -> models.TableState:
        """Read whether a table is enabled.

        {"state": "enabled"} or disabled.
        """
        return self._transport.send(
            "GET", "/tables/{table}/state", models.TableState, names={"table": table}, query={"type": type_}
        )

    def set_state(self, table: str, *, state: str, type_: str, reason: str | None = None) -> models.Status:
        """Enable or disable a table.

        ``state`` is enable or disable.
        """
        return self._transport.send(
            "PUT",
            "/tables/{table}/state",
            models.Status,
            names={"table": table},
            query={"state": state, "type": type_},
            reason=reason,
        )

    def schema(self, table: str) -> dict[str, Any]:
        """Read the schema of a table.

        The schema's JSON; takes raw and typed names.
        """
        return self._transport.send("GET", "/tables/{table}/schema", dict[str, Any], names={"table": table})

    def size(self, table: str) -> models.TableSize:
        """Read the size of a table.

        Bytes per segment and server, as live servers report them.
        """
        return self._transport.send("GET", "/tables/{table}/size", models.TableSize, names={"table": table})

    def totals(self, table: str, *, type_: str) -> models.TableTotals:
        """Read the totals of a table's segments.

        Sums over the table's segments; the type is required.
        """
        return self._transport.send(
            "GET", "/tables/{table}/metadata", models.TableTotals, names={"table": table}, query={"type": type_}
        )

    def findings(self, table: str, *, closed: bool | None = None, type_: str | None = None) -> models.TableFindings:
        """List the findings of a table.

        Open ones, errors first, each with its snooze and whether it can be fixed from here; with ``closed=true``
        those that are gone. A raw name without ``type`` means OFFLINE.
        """
        return self._transport.send(
            "GET",
            "/api/v1/tables/{table}/findings",
            models.TableFindings,
            names={"table": table},
            query={"closed": closed, "type": type_},
        )
