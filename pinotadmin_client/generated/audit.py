"""Operations about audit.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from pinotadmin_client.generated import models
from pinotadmin_client.transport import Transport


class Audit:
    """Operations about audit."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def events(
        self,
        *,
        action: str | None = None,
        actor: str | None = None,
        before: int | None = None,
        cluster: str | None = None,
        limit: int | None = None,
        outcome: str | None = None,
        request: str | None = None,
        target: str | None = None,
    ) -> models.AuditEvents:
        """Search the audit trail.

        Newest first; ``before`` is the id to go on from (``next``). Of all clusters, unless the address or a
        parameter names one.
        """
        return self._transport.send(
            "GET",
            "/api/v1/audit",
            models.AuditEvents,
            query={
                "action": action,
                "actor": actor,
                "before": before,
                "cluster": cluster,
                "limit": limit,
                "outcome": outcome,
                "request": request,
                "target": target,
            },
        )
