"""/api/v1/tables/{table}/snapshots: the history of a table, and going back to a snapshot of it."""

from __future__ import annotations

from datetime import UTC
from typing import Any, Final

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param, int_param
from segments.api.bodies import ReasonBody, read_body
from segments.api.replacement.lineage import table_of
from segments.errors import InvalidInput
from segments.models import Snapshot
from segments.services.core.context import Actor
from segments.services.replacement.history.causes import Cause, causes_of
from segments.services.replacement.history.going_back import preview_return, return_to
from segments.services.replacement.history.snapshots import history_of
from segments.services.replacement.history.standing import Standing, standings

_PAGE: Final = 50
_MOST: Final = 500


class Snapshots(ApiView):
    """The history of a table: what queries saw, and when."""

    parameters = {"GET": ("type", "before", "limit")}

    def get(self, request: Request, table: str) -> Response:
        """Newest first: number, time, what made it, who and why, rows, bytes, time range, and whether it can be gone
        back to. ``before``: only older ones than this number.

        ``state`` is present, grown (of a REALTIME table: queries see it and later rows), served, kept (its files are),
        expired (``why`` says what is gone), or unknown.
        """
        found = table_of(self, request, table)
        limit, before = int_param(request, "limit"), int_param(request, "before")
        if limit is not None and not 0 < limit <= _MOST:
            raise InvalidInput(f"'limit' must be from 1 to {_MOST}.")
        rows = history_of(self.ctx, found).select_related("cluster")
        if before is not None:
            rows = rows.filter(number__lt=min(max(before, 0), 2**31 - 1))
        listed = list(rows[: limit or _PAGE])
        left, causes = standings(self.ctx, found, [r.number for r in listed]), causes_of(listed)
        return Response(
            {
                "table": found.typed,
                "snapshots": [_json(r, left.get(r.number), causes.get(r.number)) for r in listed],
                "more": bool(listed) and listed[-1].number > 1,
            }
        )


class RestoreSnapshot(ApiView):
    """Go back, or forward again, to a snapshot."""

    bodies = {"POST": ReasonBody}
    rights = {"POST": "operate"}
    parameters = {"GET": ("type",), "POST": ("type", "dryRun", "reason")}

    def get(self, request: Request, table: str, number: int) -> Response:
        """What it would do: its switches, rows, segments, bytes and times before and after, until when it can be
        undone, and what stands in the way.
        """
        return Response(preview_return(self.ctx, table_of(self, request, table), number).to_json())

    def post(self, request: Request, table: str, number: int) -> Response:
        """Make queries see exactly that snapshot; answers when all live brokers do. ``undo`` is the snapshot to go back
        to if it was wrong. With dryRun=true only say what it would do.

        409 when it cannot be done, with the reason; then nothing is changed.
        """
        reason = read_body(request, ReasonBody, optional=True).reason or ""
        found = table_of(self, request, table)
        if bool_param(request, "dryRun"):
            return Response(preview_return(self.ctx, found, number).to_json())
        actor = Actor(self.actor.name, reason.strip() or self.actor.reason, self.actor.address)
        return Response(return_to(self.ctx, found, number, actor=actor).to_json())


def _json(row: Snapshot, standing: Standing | None, cause: Cause | None) -> dict[str, Any]:
    return {
        "number": row.number,
        "at": f"{row.at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z",
        "madeBy": row.kind,
        "entries": row.entries,
        "unseenSwitches": row.switches - 1,
        "segments": row.segments,
        "rows": row.rows,
        "bytes": row.bytes,
        "startMs": row.start_ms,
        "endMs": row.end_ms,
        "actor": cause.actor if cause else "",
        "reason": cause.reason if cause else "",
        "decidedBy": cause.decided_by if cause else "",
        "decision": cause.decision if cause else "",
        "push": row.push,
        "session": row.session,
        "checks": row.checks,
        "state": standing.state if standing else "unknown",
        "why": standing.why if standing else "",
    }
