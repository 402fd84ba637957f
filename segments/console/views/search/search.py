"""Search over tables, segments, replacements, pushes, sessions, people, pages and actions: a page, and the palette that
Ctrl+K opens on every other.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from segments.console.access import page
from segments.console.listing import asked
from segments.console.presenters.search.hits import search

_LONGEST = 200


@page
@require_safe
def find(request: HttpRequest) -> HttpResponse:
    """What fits ``q``; for the palette only the list."""
    text = " ".join(asked(request, "q")["q"].split())[:_LONGEST]
    context = {"q": text, "groups": search(request, text)}
    fragment = "console/partials/search_hits.html"
    return render(request, fragment if request.headers.get("X-Palette") else "console/search.html", context)
