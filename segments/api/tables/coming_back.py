"""/api/v1/tables/{table}/restore: a table that was deleted comes back."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, text_param
from segments.api.bodies import ReasonBody, read_body
from segments.names import OFFLINE, TableName, resolve_table, split_table_name
from segments.services.core.context import Actor
from segments.services.tables.coming_back import bring_back, plan_coming_back


class RestoreTable(ApiView):
    """A table that was deleted, by its name; a raw name means OFFLINE."""

    bodies = {"POST": ReasonBody}
    rights = {"GET": "administer", "POST": "administer"}
    parameters = {"GET": ("type",), "POST": ("type", "reason")}

    def get(self, request: Request, table: str) -> Response:
        """When and by whom it was deleted, which snapshot queries would see again, and what stands in the way."""
        return Response(plan_coming_back(self.ctx, _named(request, table)).to_json())

    def post(self, request: Request, table: str) -> Response:
        """Create it with its last config, and go to its last snapshot from the kept files. 409 with what stands in the
        way; then nothing is made.
        """
        reason = read_body(request, ReasonBody, optional=True).reason or ""
        actor = Actor(self.actor.name, reason.strip() or self.actor.reason, self.actor.address)
        return Response(bring_back(self.ctx, _named(request, table), actor=actor).to_json())


def _named(request: Request, table: str) -> TableName:
    kind = text_param(request, "type")
    return resolve_table(table, kind or split_table_name(table)[1] or OFFLINE)
