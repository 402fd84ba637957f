"""Operations about pushes.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from typing import Any

from pinotadmin_client.generated import models
from pinotadmin_client.transport import Transport


class Pushes:
    """Operations about pushes."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def newest(
        self, *, limit: int | None = None, state: str | None = None, table_name: str | None = None
    ) -> models.Pushes:
        """List the pushes.

        Pushes, newest first; ``tableName`` (raw), ``state`` and ``limit`` narrow them.
        """
        return self._transport.send(
            "GET", "/api/v1/pushes", models.Pushes, query={"limit": limit, "state": state, "tableName": table_name}
        )

    def get(self, push_id: str) -> models.PushDetails:
        """Read a push.

        State, stage, progress, seconds per stage, error, and every segment. 404 when there is none.
        """
        return self._transport.send("GET", "/api/v1/pushes/{push_id}", models.PushDetails, names={"push_id": push_id})

    def start(
        self,
        *,
        spec: dict[str, Any] | str,
        override_checks: str | None = None,
        overwrite: bool | None = None,
        strict_snapshot: bool | None = None,
        reason: str | None = None,
    ) -> models.Push:
        """Start a push.

        Start a push. The body is Pinot's job specification, YAML or JSON, or an object with ``spec`` and what
        follows.

        ``reason``, ``overrideChecks`` (the reason for which the table's checks may fail) and ``overwrite`` (true:
        segments of the same names are replaced; without it a push that would do that is refused with 409, names and
        rows) and ``strictSnapshot`` (true: a push that replaces the whole table fails instead of switching when
        segments were added since its start; else it lists them in ``uncoveredSegments``) may also be parameters.
        ``withoutEffect`` of the answer names keys that change nothing here.
        """
        return self._transport.send(
            "POST",
            "/api/v1/pushes",
            models.Push,
            query={"overrideChecks": override_checks, "overwrite": overwrite, "strictSnapshot": strict_snapshot},
            body={"spec": spec},
            reason=reason,
        )

    def cancel(self, push_id: str, *, reason: str | None = None) -> models.Push:
        """Cancel a push.

        Stop it and take back what it did. 409 when it is finished or already switching.
        """
        return self._transport.send(
            "POST", "/api/v1/pushes/{push_id}/cancel", models.Push, names={"push_id": push_id}, reason=reason
        )

    def finish(self, push_id: str, *, override_checks: str | None = None, reason: str | None = None) -> models.Push:
        """Finish a blocked push.

        Try the switch again; with overrideChecks=<reason> failed checks do not stop it. 409 unless the push is
        BLOCKED.
        """
        return self._transport.send(
            "POST",
            "/api/v1/pushes/{push_id}/finish",
            models.Push,
            names={"push_id": push_id},
            query={"overrideChecks": override_checks},
            reason=reason,
        )

    def report(self, push_id: str) -> models.PushReport:
        """Read what a push ignored, defaulted and refused.

        Columns that were ignored, defaults used by column, bad rows with file, line and value (the first 1,000). 404:
        none yet.
        """
        return self._transport.send(
            "GET", "/api/v1/pushes/{push_id}/report", models.PushReport, names={"push_id": push_id}
        )
