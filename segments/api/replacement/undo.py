"""/api/v1/lineage/{table}/{entry}/undo: bring back what a rollback removed."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param
from segments.api.bodies import ReasonBody, read_body
from segments.api.replacement.lineage import table_of
from segments.services.core.context import Actor
from segments.services.replacement.undo.planning import preview_undo
from segments.services.replacement.undo.rollback import undo_rollback


class UndoRollback(ApiView):
    """Undo the rollback of a replacement."""

    bodies = {"POST": ReasonBody}
    rights = {"POST": "operate"}
    parameters = {"GET": ("type", "force"), "POST": ("type", "force", "dryRun", "reason")}

    def get(self, request: Request, table: str, entry: str) -> Response:
        """What undoing it would do: rows, segments, bytes before and after, what comes back and goes, until when, what
        blocks it.
        """
        return self._preview(request, table, entry)

    def post(self, request: Request, table: str, entry: str) -> Response:
        """Bring back what the rollback of this entry removed, all of its steps in one switch; with dryRun=true only
        say so.

        Possible while the files of deleted segments are kept. 409 when newer data would be seen together with it,
        unless force=true.
        """
        reason = read_body(request, ReasonBody, optional=True).reason or ""
        if bool_param(request, "dryRun"):
            return self._preview(request, table, entry)
        found, force = table_of(self, request, table), bool_param(request, "force")
        actor = Actor(self.actor.name, reason.strip() or self.actor.reason, self.actor.address)
        return Response(undo_rollback(self.ctx, found, entry, force=force, actor=actor).to_json())

    def _preview(self, request: Request, table: str, entry: str) -> Response:
        found, force = table_of(self, request, table), bool_param(request, "force")
        return Response(preview_undo(self.ctx, found, entry, force=force).to_json())
