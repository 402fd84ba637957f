"""The snapshots that the query in the editor can be asked as of."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from segments.console.access import page
from segments.console.presenters.queries.snapshot_choice import snapshot_choice

_LONGEST = 200


@page
@require_POST
def snapshots(request: HttpRequest) -> HttpResponse:
    """The two selects for the text that is sent; runs nothing."""
    chosen, against = (request.POST.get(key, "")[:_LONGEST] for key in ("snapshot", "against"))
    found = snapshot_choice(request, request.POST.get("sql", "")[:100_000], chosen, against)
    return render(request, "console/partials/query_snapshots.html", {"choice": found})
