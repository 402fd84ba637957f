"""/api/v1/queries: queries that this web process answers now, and cancelling one."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param
from segments.errors import InvalidInput
from segments.services.queries.running import RunningQuery, running_queries


class RunningQueriesView(ApiView):
    """One's own, or everybody's for administrators."""

    answers = {"GET": {200: "object"}}
    rights = {"GET": "query"}
    reading = "filtered"
    parameters = {"GET": ("all",)}

    def get(self, request: Request) -> Response:
        """Oldest first; ``all=true``: everybody's, for administrators of the installation. A token sees its
        owner's.
        """
        kept = running_queries()
        found = kept.visible(request.user, self.ctx.cluster, of_all=bool_param(request, "all"))
        return Response({"queries": [_json(query, kept.seconds(query)) for query in found]})


class OneRunningQuery(ApiView):
    """One of them, by its id or the one that its client gave it (option ``clientQueryId``)."""

    answers = {"DELETE": {200: "object"}}
    rights = {"DELETE": "query"}
    reading = "filtered"
    parameters = {"DELETE": ("reason",)}

    def delete(self, request: Request, query: str) -> Response:
        """Cancel it: servers and query engine end what they do for it, and its answer is an exception with the code
        503. 404 for queries of others, but for administrators of the installation.
        """
        if not self.ctx.engine.offers.own_processes:
            raise InvalidInput(
                f"Brokers of cluster '{self.ctx.cluster}' answer its queries; they are not cancelled from here.",
                remedy="Give such a query the option timeoutMs.",
            )
        found = running_queries().cancel(self.ctx, request.user, self.actor, query)
        return Response({"status": "The query is being ended.", "cancelled": [q.id for q in found]})


def _json(query: RunningQuery, seconds: float) -> dict[str, Any]:
    return {
        "id": query.id,
        "clientQueryId": query.client_id or None,
        "owner": query.owner,
        "sql": query.sql,
        "runningMs": round(seconds * 1000),
    }
