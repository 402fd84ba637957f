"""The tour of the start page, dismissed for good."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from segments.console.access import page
from segments.services.tour.progress import dismiss


@page
@require_POST
def dismiss_tour(request: HttpRequest) -> HttpResponse:
    """Not shown to this person any more."""
    dismiss(request.user)
    return redirect("console:tables")
