"""Queries that the person keeps: saved ones and the last ones that ran, as a part of the query page."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from segments.console.access import page
from segments.console.cluster_address import cluster_of
from segments.errors import PinotAdminError
from segments.services.queries.kept import delete_query, own_queries, save_query


@page
@require_safe
def kept(request: HttpRequest) -> HttpResponse:
    """The part alone."""
    return _shown(request)


@page
@require_POST
def save(request: HttpRequest) -> HttpResponse:
    """Save the editor's text under a name."""
    try:
        save_query(request.user, cluster_of(request), request.POST.get("name", ""), request.POST.get("sql", ""))
    except PinotAdminError as error:
        return _shown(request, error)
    return _shown(request)


@page
@require_POST
def delete(request: HttpRequest, link: uuid.UUID) -> HttpResponse:
    """Delete one of one's own."""
    delete_query(request.user, cluster_of(request), link)
    return _shown(request)


def kept_context(request: HttpRequest) -> dict[str, Any]:
    """What the part shows."""
    saved, runs = own_queries(request.user, cluster_of(request))
    return {"saved": saved, "runs": runs}


def _shown(request: HttpRequest, error: PinotAdminError | None = None) -> HttpResponse:
    if not request.headers.get("HX-Request"):
        if error is not None:
            raise error
        return redirect("console:query")
    #: htmx swaps only successful answers; the text itself says what went wrong.
    return render(request, "console/partials/query_kept.html", {**kept_context(request), "kept_error": error})
