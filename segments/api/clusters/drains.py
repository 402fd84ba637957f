"""/api/v1/instances/{instance}/drain: everything on a server moves to others, how far it is, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param, int_param, text_param
from segments.services.access.read_rights import readable
from segments.services.rebalance import drain
from segments.services.rebalance.drain import Outlook


class Drain(ApiView):
    """The drain of one server."""

    on_pinot = frozenset(("GET", "POST", "DELETE"))
    reading = "filtered"
    rights = {"POST": "operate", "DELETE": "operate"}
    parameters = {"POST": ("dryRun", "forceCommit", "minAvailableReplicas", "reason"), "DELETE": ("reason",)}
    answers = {method: {200: "object"} for method in ("GET", "POST", "DELETE")}

    def get(self, request: Request, instance: str) -> Response:
        """What the server holds by table, how far its drain is and what is in its way."""
        return Response(self._answer(request, drain.outlook_of(self.ctx, instance)))

    def post(self, request: Request, instance: str) -> Response:
        """Begin; with ``dryRun`` what would move, and ``refusals``: why it cannot.

        The server loses its tags, and each table on it is rebalanced with all replicas available. What it consumes is
        committed first; with ``forceCommit=false`` another server reads it again.
        """
        if bool_param(request, "dryRun"):
            return Response(self._answer(request, drain.outlook_of(self.ctx, instance)))
        commits = text_param(request, "forceCommit") is None or bool_param(request, "forceCommit")
        least = int_param(request, "minAvailableReplicas")
        found = drain.start(self.ctx, instance, commits=commits, min_available=least, actor=self.actor)
        return Response(self._answer(request, found))

    def delete(self, request: Request, instance: str) -> Response:
        """The server gets its tags back; rebalances that its drain began are stopped, what moved stays."""
        stopped = drain.undo(self.ctx, instance, actor=self.actor)
        return Response({"instance": instance, "stoppedRebalances": stopped})

    def _answer(self, request: Request, found: Outlook) -> dict[str, Any]:
        return outlook_json(found, readable(request.user, self.cluster_name))


def outlook_json(found: Outlook, may_read: Callable[[str], bool]) -> dict[str, Any]:
    """As JSON; tables are named as far as ``may_read`` says yes to them, and numbers count all of them."""
    drain, held = found.drain, {table.typed: some for table, some in found.held.items()}
    tables = {
        typed: {"segments": some.segments, "consuming": some.consuming, "switchedOff": some.off}
        for typed, some in held.items()
        if may_read(typed)
    }
    body = {"instance": found.server, "state": "IN_SERVICE", "percent": found.percent, "segmentsLeft": found.left}
    refusals = {table.typed: why for table, why in found.refusals.items() if may_read(table.typed)}
    more = {"tables": tables, "refusals": refusals}
    if drain is None:
        return {**body, **more}
    tries = {typed: tried for typed, tried in drain.tries.items() if may_read(typed)}
    return {
        **body,
        **more,
        "state": drain.phase.value,
        "tags": list(drain.tags),
        "rebalances": {typed: tried.job for typed, tried in tries.items() if tried.job},
        "problems": {typed: tried.problem for typed, tried in tries.items() if tried.problem},
        "actor": drain.who.name,
        "reason": drain.who.reason,
        "startedMs": drain.started_ms,
        "finishedMs": drain.finished_ms,
    }
