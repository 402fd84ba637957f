"""Cancels what the query page runs."""

from __future__ import annotations

from contextlib import suppress

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from segments import wiring
from segments.console.access import actor_of, page
from segments.console.cluster_address import cluster_of
from segments.console.forms import QueryForm
from segments.errors import NotFound
from segments.services.queries import elsewhere
from segments.services.queries.running import running_queries


@page
@require_POST
def cancel(request: HttpRequest) -> HttpResponse:
    """End the query of this page; its answer says so. Nothing happens when it has ended."""
    form = QueryForm(request.POST)
    form.is_valid()
    if name := form.cleaned_data.get("query"):
        ctx = wiring.context(cluster_of(request))
        with suppress(NotFound):  # then its answer is on its way
            elsewhere.cancel(ctx, running_queries(), request.user, actor_of(request), name)
    return HttpResponse(status=204)
