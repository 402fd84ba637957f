"""Columns and saved views of lists, and the person's own page with the time zone."""

from __future__ import annotations

from zoneinfo import available_timezones

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from segments.console.access import page
from segments.domain.formats.whole_number import whole_number
from segments.services.core.page_addresses import own_address
from segments.services.preferences import choices


@page
@require_safe
def own_page(request: HttpRequest) -> HttpResponse:
    """What the person chose."""
    chosen = choices.choices_of(request.user)
    context = {
        "zone": choices.time_zone(chosen),
        "zones": sorted(available_timezones()),
        "views": [(name, v) for name in choices.LISTS for v in choices.saved_views(chosen, name)],
    }
    return render(request, "console/own_page.html", context)


@page
@require_POST
def columns(request: HttpRequest) -> HttpResponse:
    """Show exactly the columns that ``shown`` names, besides those that stay."""
    name = request.POST.get("list", "")
    shown = {whole_number(n) for n in request.POST.getlist("shown")}
    choices.hide_columns(request.user, name, [n for n in choices.LISTS.get(name, {}) if n not in shown])
    return _back(request)


@page
@require_POST
def save(request: HttpRequest) -> HttpResponse:
    """Keep the filters of the page under ``name``."""
    given = (request.POST.get(key, "").replace("\0", "") for key in ("list", "name", "query"))
    choices.save_view(request.user, *given)
    return _back(request)


@page
@require_POST
def delete(request: HttpRequest) -> HttpResponse:
    """Forget a saved view."""
    choices.delete_view(request.user, request.POST.get("list", ""), request.POST.get("name", "").replace("\0", ""))
    return _back(request)


def _back(request: HttpRequest) -> HttpResponse:
    return redirect(own_address(request, request.headers.get("Referer", "")) or "console:tables")
