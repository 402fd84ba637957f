"""Findings of the validation pass over all tables."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from segments.console.access import page
from segments.console.listing import asked, cut, page_number
from segments.models import Finding


@page
@require_safe
def finding_list(request: HttpRequest) -> HttpResponse:
    """Open findings, errors first; ``closed=1`` shows those that went away."""
    wanted = asked(request, "table", "severity", "closed")
    is_closed = wanted["closed"] == "1"
    query = Finding.objects.filter(closed_at__isnull=not is_closed)
    query = query.order_by("-closed_at", "-id") if is_closed else query.order_by("severity", "table_name", "code", "id")
    if wanted["table"]:
        query = query.filter(table_name__icontains=wanted["table"])
    if wanted["severity"]:
        query = query.filter(severity=wanted["severity"])
    context = {"listing": cut(query, page_number(request.GET.get("page"))), "wanted": wanted, "is_closed": is_closed}
    return render(request, "console/findings.html", context)
