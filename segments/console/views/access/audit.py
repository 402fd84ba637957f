"""The audit record: who did (or was refused) what, when and why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from django.core.handlers.asgi import ASGIRequest
from django.db import connections
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from segments.console.access import find_table, page
from segments.console.cluster_address import cluster_of
from segments.console.export import csv_response
from segments.console.forms import AuditFilter
from segments.console.listing import cut, page_number
from segments.console.presenters.access.audit_lines import Events, audit_lines, changes, folded, search
from segments.console.views.tables.tables import head
from segments.models import AuditEvent
from segments.services.access.read_rights import readable_events
from segments.services.core.page_addresses import default_cluster

#: Events of the CSV that are read at once.
_AT_ONCE: Final = 1000


@page
@require_safe
def event_list(request: HttpRequest) -> HttpResponse:
    """Events of the page's cluster, newest first, filtered; those of none, such as wrong passwords, are the default
    one's.
    """
    form = AuditFilter(request.GET)
    listing = cut(folded(_filtered(request, form)), page_number(request.GET.get("page")))
    lines = audit_lines(listing.rows, readable_events(AuditEvent.objects.all(), request.user))
    return render(request, "console/audit.html", {"form": form, "listing": listing, "lines": lines})


@page
@require_safe
def download(request: HttpRequest) -> HttpResponseBase:
    """The same filter as CSV, all pages and all parts."""
    in_pieces = isinstance(request, ASGIRequest)
    rows = _all_of(_filtered(request, AuditFilter(request.GET)), on_many_threads=in_pieces)
    header = ["at", "actor", "action", "cluster", "target", "outcome", "reason", "address", "detail", "request"]
    names = ("actor", "action", "cluster", "target", "outcome", "reason", "address")
    lines = ([e.at.isoformat(), *(getattr(e, n) for n in names), json.dumps(e.detail), e.request_id] for e in rows)
    return csv_response("audit.csv", header, lines, in_pieces=in_pieces)


def _all_of(events: Events, *, on_many_threads: bool) -> Iterator[AuditEvent]:
    """Newest first, in reads of their own: each may happen on another thread, which keeps no connection afterwards."""
    last: int | None = None
    while True:
        page_of = events.order_by("-pk") if last is None else events.filter(pk__lt=last).order_by("-pk")
        found = list(page_of[:_AT_ONCE])
        if on_many_threads:
            connections.close_all()
        yield from found
        if len(found) < _AT_ONCE:
            return
        last = found[-1].pk


@page
@require_safe
def event(request: HttpRequest, event_id: int) -> HttpResponse:
    """One event in full."""
    readable = readable_events(AuditEvent.objects.all(), request.user)
    found = get_object_or_404(readable, pk=event_id)
    detail = json.dumps(found.detail, indent=2, ensure_ascii=False)
    context = {"line": audit_lines([found], readable)[0], "changes": changes(found.detail), "detail": detail}
    return render(request, "console/event.html", context)


@page
@require_safe
def of_table(request: HttpRequest, typed: str) -> HttpResponse:
    """Events of one table."""
    table, _ = find_table(request, typed)
    events = AuditEvent.objects.filter(_of_page(request)).filter(
        Q(target__in=[table.name, table.raw_name]) | Q(target__startswith=f"{table.name}/")
    )
    listing = cut(folded(events), page_number(request.GET.get("page")))
    lines = audit_lines(listing.rows, readable_events(AuditEvent.objects.all(), request.user))
    context: dict[str, Any] = {**head(request, table, "audit"), "listing": listing, "lines": lines}
    return render(request, "console/table_audit.html", context)


def _of_page(request: HttpRequest) -> Q:
    cluster = cluster_of(request)
    return Q(cluster__in=[cluster, ""]) if cluster == default_cluster() else Q(cluster=cluster)


def _filtered(request: HttpRequest, form: AuditFilter) -> Events:
    query = readable_events(AuditEvent.objects.filter(_of_page(request)), request.user)
    if not form.is_valid():
        return query
    wanted = form.cleaned_data
    query = search(query, wanted["q"]) if wanted["q"] else query
    for field, lookup in (
        ("actor", "actor__iexact"),
        ("action", "action__icontains"),
        ("target", "target__icontains"),
        ("outcome", "outcome"),
        ("request", "request_id"),
    ):
        if wanted[field]:
            query = query.filter(**{lookup: wanted[field]})
    if wanted["since"]:
        query = query.filter(at__gte=wanted["since"])
    if wanted["until"]:
        query = query.filter(at__lte=wanted["until"])
    return query
