"""/api/v1/queries: queries that run now in any web process, and cancelling one."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param
from segments.api.clusters.cluster_calls import ClusterUser
from segments.errors import InvalidInput
from segments.services.queries.elsewhere import Found, all_running, cancel, of_this_process
from segments.services.queries.running import running_queries


class RunningQueriesView(ApiView):
    """One's own, or everybody's for administrators."""

    answers = {"GET": {200: "object"}}
    rights = {"GET": "query"}
    reading = "filtered"
    for_cluster = frozenset(("GET",))
    parameters = {"GET": ("all",)}

    def get(self, request: Request) -> Response:
        """Oldest first; ``all=true``: everybody's, for administrators of the installation. A token sees its
        owner's.
        """
        kept = running_queries()
        user: Any = request.user
        if isinstance(user, ClusterUser):  # another web process, which decides who may see them
            return Response({"queries": [_json(query) for query in of_this_process(kept, self.ctx.cluster)]})
        found = all_running(self.ctx, kept, user, of_all=bool_param(request, "all"))
        return Response({"queries": [_json(query) for query in found]})


class OneRunningQuery(ApiView):
    """One of them, by its id or the one that its client gave it (option ``clientQueryId``)."""

    answers = {"DELETE": {200: "object"}}
    rights = {"DELETE": "query"}
    reading = "filtered"
    for_cluster = frozenset(("DELETE",))
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
        user: Any = request.user
        if isinstance(user, ClusterUser):
            ended = [query] if running_queries().end(self.ctx.cluster, query) else []
        else:
            ended = cancel(self.ctx, running_queries(), user, self.actor, query)
        return Response({"status": "The query is being ended.", "cancelled": ended})


def _json(query: Found) -> dict[str, Any]:
    return {
        "id": query.id,
        "clientQueryId": query.client_id or None,
        "owner": query.owner,
        "sql": query.sql,
        "runningMs": query.running_ms,
    }
