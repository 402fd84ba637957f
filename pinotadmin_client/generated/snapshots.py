"""Operations about snapshots.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from pinotadmin_client.generated import models
from pinotadmin_client.transport import Transport


class Snapshots:
    """Operations about snapshots."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def listed(
        self, table: str, *, before: int | None = None, limit: int | None = None, type_: str | None = None
    ) -> models.TableHistory:
        """List the snapshots of a table.

        Newest first: number, time, what made it, who and why, rows, bytes, time range, and whether it can be gone
        back to. ``before``: only older ones than this number.

        ``state`` is present, grown (of a REALTIME table: queries see it and later rows), served, kept (its files
        are), expired (``why`` says what is gone), or unknown.
        """
        return self._transport.send(
            "GET",
            "/api/v1/tables/{table}/snapshots",
            models.TableHistory,
            names={"table": table},
            query={"before": before, "limit": limit, "type": type_},
        )

    def preview(self, table: str, number: str | int, *, type_: str | None = None) -> models.ReturnPreview:
        """Preview the way back to a snapshot.

        What it would do: its switches, rows, segments, bytes and times before and after, until when it can be undone,
        and what stands in the way.
        """
        return self._transport.send(
            "GET",
            "/api/v1/tables/{table}/snapshots/{number}/restore",
            models.ReturnPreview,
            names={"table": table, "number": number},
            query={"type": type_},
        )

    def go_back(
        self, table: str, number: str | int, *, type_: str | None = None, reason: str | None = None
    ) -> models.ReturnDone:
        """Go back to a snapshot.

        Make queries see exactly that snapshot; answers when all live brokers do. ``undo`` is the snapshot to go back
        to if it was wrong. With dryRun=true only say what it would do.

        409 when it cannot be done, with the reason; then nothing is changed.
        """
        return self._transport.send(
            "POST",
            "/api/v1/tables/{table}/snapshots/{number}/restore",
            models.ReturnDone,
            names={"table": table, "number": number},
            query={"type": type_},
            reason=reason,
        )
