"""The inbox: findings of the passes over all tables, filtered, sorted and paged in the database."""

from __future__ import annotations

from typing import Any

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from segments.console.access import may_administer_all, may_somewhere, page
from segments.console.cluster_address import cluster_of
from segments.console.listing import asked, cut, page_number
from segments.console.presenters.clusters import cluster_frame
from segments.console.presenters.findings import SORTS, items, kinds
from segments.models import Finding
from segments.services.access.read_rights import readable_rows
from segments.services.upkeep.snooze import snoozed


@page
@require_safe
def finding_list(request: HttpRequest) -> HttpResponse:
    """Open findings, errors first; ``closed=1`` shows those that are gone, ``snoozed`` those that are snoozed."""
    wanted = asked(request, "table", "severity", "code", "closed", "sort")
    is_closed = wanted["closed"] == "1"
    query = Finding.objects.filter(cluster=cluster_of(request), closed_at__isnull=not is_closed)
    query = readable_rows(query, request.user, cluster="cluster", table="table_name")
    if wanted["closed"] == "snoozed":
        query = snoozed(query, are=True)
    counts = dict(query.order_by().values_list("code").annotate(n=Count("pk")))
    if wanted["table"]:
        query = query.filter(table_name__icontains=wanted["table"])
    if wanted["severity"]:
        query = query.filter(severity=wanted["severity"])
    if wanted["code"]:
        query = query.filter(code=wanted["code"])
    order = ["-closed_at", "-id"] if is_closed and not wanted["sort"] else SORTS.get(wanted["sort"], SORTS[""])[1]
    listing = cut(query.order_by(*order), page_number(request.GET.get("page")))
    context: dict[str, Any] = {
        "listing": listing,
        "items": items(listing.rows, cluster_frame(request).offers.fixable),
        "wanted": wanted,
        "is_closed": is_closed,
        "kinds": kinds(counts),
        "sorts": [(key, "last closed" if is_closed and not key else label) for key, (label, _) in SORTS.items()],
        "is_filtered": any(wanted[k] for k in ("table", "severity", "code")) or wanted["closed"] == "snoozed",
        "may_operate": may_somewhere(request),
        "may_administer_all": may_administer_all(request),
    }
    return render(request, "console/findings.html", context)
