"""Tables and columns for the side of the query page and its completion: only those that the person may read."""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from segments.console.access import page
from segments.console.cluster_address import cluster_of
from segments.console.listing import asked
from segments.console.presenters.queries.side import table_columns, table_names


@page
@require_safe
def columns(request: HttpRequest) -> JsonResponse:
    """``?q=`` answers names of tables that hold the text, ``?table=`` the columns of one."""
    wanted, cluster = asked(request, "q", "table"), cluster_of(request)
    if wanted["table"]:
        return JsonResponse({"columns": table_columns(cluster, request.user, wanted["table"])})
    names, has_more = table_names(cluster, request.user, wanted["q"])
    return JsonResponse({"tables": names, "hasMore": has_more})
