"""The audit record: who did (or was refused) what, when and why."""

from __future__ import annotations

import json
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from segments.console.access import find_table, page
from segments.console.cluster_address import cluster_of
from segments.console.export import csv_response
from segments.console.forms import AuditFilter
from segments.console.listing import cut, page_number
from segments.console.presenters.tones import mark
from segments.console.views.tables import head
from segments.models import AuditEvent
from segments.services.page_addresses import default_cluster
from segments.services.reading import readable_events

Events = QuerySet[AuditEvent, AuditEvent]


@page
@require_safe
def event_list(request: HttpRequest) -> HttpResponse:
    """Events of the page's cluster, newest first, filtered; those of none, such as wrong passwords, are the default one's."""
    form = AuditFilter(request.GET)
    listing = cut(_filtered(request, form), page_number(request.GET.get("page")))
    return render(request, "console/audit.html", {"form": form, "listing": listing, "rows": [(e, mark(e.outcome)) for e in listing]})


@page
@require_safe
def download(request: HttpRequest) -> HttpResponseBase:
    """The same filter as CSV, all pages."""
    rows = _filtered(request, AuditFilter(request.GET)).iterator(chunk_size=1000)
    header = ["at", "actor", "action", "cluster", "target", "outcome", "reason", "address", "detail"]
    lines = ([e.at.isoformat(), e.actor, e.action, e.cluster, e.target, e.outcome, e.reason, e.address, json.dumps(e.detail)] for e in rows)
    return csv_response("audit.csv", header, lines)


@page
@require_safe
def event(request: HttpRequest, event_id: int) -> HttpResponse:
    """One event in full."""
    found = get_object_or_404(readable_events(AuditEvent.objects.all(), request.user), pk=event_id)
    context = {"event": found, "mark": mark(found.outcome), "detail": json.dumps(found.detail, indent=2)}
    return render(request, "console/event.html", context)


@page
@require_safe
def of_table(request: HttpRequest, typed: str) -> HttpResponse:
    """Events of one table."""
    table, _ = find_table(request, typed)
    events = AuditEvent.objects.filter(_of_page(request)).filter(
        Q(target__in=[table.name, table.raw_name]) | Q(target__startswith=f"{table.name}/")
    )
    listing = cut(events, page_number(request.GET.get("page")))
    context: dict[str, Any] = {**head(request, table, "audit"), "listing": listing, "rows": [(e, mark(e.outcome)) for e in listing]}
    return render(request, "console/table_audit.html", context)


def _of_page(request: HttpRequest) -> Q:
    cluster = cluster_of(request)
    return Q(cluster__in=[cluster, ""]) if cluster == default_cluster() else Q(cluster=cluster)


def _filtered(request: HttpRequest, form: AuditFilter) -> Events:
    query = readable_events(AuditEvent.objects.filter(_of_page(request)), request.user)
    if not form.is_valid():
        return query
    wanted = form.cleaned_data
    for field, lookup in (
        ("actor", "actor__iexact"),
        ("action", "action__icontains"),
        ("target", "target__icontains"),
        ("outcome", "outcome"),
    ):
        if wanted[field]:
            query = query.filter(**{lookup: wanted[field]})
    if wanted["since"]:
        query = query.filter(at__gte=wanted["since"])
    if wanted["until"]:
        query = query.filter(at__lte=wanted["until"])
    return query
