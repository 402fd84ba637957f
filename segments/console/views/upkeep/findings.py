"""The inbox: what waits for somebody, of all tables, filtered, sorted and paged in the database; and the bell's
number.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from segments.console.access import may_administer_all, may_operate, page
from segments.console.cluster_address import cluster_of
from segments.console.listing import asked, cut, page_number
from segments.console.presenters.clusters import cluster_frame
from segments.console.presenters.findings import SORTS, items, kinds
from segments.models import Finding
from segments.services.upkeep.inbox import findings_for
from segments.services.upkeep.snooze import snoozed

_FILTERS: Final = ("table", "severity", "code", "who")


@page
@require_safe
def finding_list(request: HttpRequest) -> HttpResponse:
    """Open findings, errors first; ``closed=1`` shows those that are gone, ``waiting`` those that are not snoozed,
    ``snoozed`` those that are.
    """
    wanted = asked(request, "table", "severity", "code", "closed", "sort", "who")
    is_closed = wanted["closed"] == "1"
    query = findings_for(request.user, cluster_of(request)).filter(closed_at__isnull=not is_closed)
    if wanted["closed"] in ("snoozed", "waiting"):
        query = snoozed(query, are=wanted["closed"] == "snoozed")
    counts = dict(query.order_by().values_list("code").annotate(n=Count("pk")))
    query = _filtered(query, wanted, request.user.get_username())
    order = ["-closed_at", "-id"] if is_closed and not wanted["sort"] else SORTS.get(wanted["sort"], SORTS[""])[1]
    listing = cut(query.order_by(*order), page_number(request.GET.get("page")))
    context: dict[str, Any] = {
        "listing": listing,
        "items": items(listing.rows, cluster_frame(request).offers.fixable, partial(may_operate, request)),
        "wanted": wanted,
        "is_closed": is_closed,
        "kinds": kinds(counts),
        "sorts": [(key, "last closed" if is_closed and not key else label) for key, (label, _) in SORTS.items()],
        "is_filtered": any(wanted[k] for k in _FILTERS) or wanted["closed"] in ("snoozed", "waiting"),
        "may_administer_all": may_administer_all(request),
    }
    return render(request, "console/findings.html", context)


def _filtered(query: QuerySet[Finding, Finding], wanted: Mapping[str, str], person: str) -> QuerySet[Finding, Finding]:
    if wanted["table"]:
        query = query.filter(table_name__icontains=wanted["table"])
    if wanted["severity"]:
        query = query.filter(severity=wanted["severity"])
    if wanted["code"]:
        query = query.filter(code=wanted["code"])
    if wanted["who"] in ("me", "nobody"):
        query = query.filter(assignee=person if wanted["who"] == "me" else "")
    return query
