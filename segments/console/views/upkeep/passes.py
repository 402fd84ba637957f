"""Passes: what the last runs reported, and where one is run now."""

from __future__ import annotations

from itertools import islice
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from segments.console.access import find_table, may_operate, may_somewhere, page
from segments.console.cluster_address import cluster_of
from segments.console.listing import asked, cut, page_number
from segments.console.presenters.clusters import cluster_frame
from segments.console.views.tables.tables import head
from segments.domain.pinot.minion_tasks import asked_for
from segments.models import Finding, PassRun, Table
from segments.services.access.read_rights import readable_rows
from segments.services.upkeep import passes
from segments.wiring import offers_of

#: Tables that the form offers; of more of them the name is typed.
_MOST_LISTED: Final = 200


@page
@require_safe
def pass_list(request: HttpRequest) -> HttpResponse:
    """Runs of all passes."""
    cluster = cluster_of(request)
    tables = readable_rows(
        Table.objects.filter(cluster__name=cluster), request.user, cluster="cluster__name", table="name"
    )
    query = readable_rows(PassRun.objects.filter(cluster=cluster), request.user, cluster="cluster", table="table_name")
    wanted = asked(request, "task", "table")
    if wanted["task"]:
        query = query.filter(task=wanted["task"])
    if wanted["table"]:
        query = query.filter(table_name__icontains=wanted["table"])
    is_whole = may_operate(request)
    all_names = tables.values_list("name", flat=True).iterator()
    names = list(islice((n for n in all_names if is_whole or may_operate(request, n)), _MOST_LISTED + 1))
    context = {
        "tables": names[:_MOST_LISTED],
        "has_more_tables": len(names) > _MOST_LISTED,
        "listing": cut(query, page_number(request.GET.get("page"))),
        "wanted": wanted,
        "passes": sorted(passes.WORDS.items()),
        "may_operate": may_somewhere(request),
        "may_operate_all": is_whole,
        "theirs": sorted(cluster_frame(request).offers.own_passes),
    }
    return render(request, "console/passes.html", context)


@page
@require_safe
def of_table(request: HttpRequest, typed: str) -> HttpResponse:
    """Findings and runs of one table."""
    table, _ = find_table(request, typed)
    runs = PassRun.objects.filter(cluster=table.cluster.name, table_name=table.name)
    findings = Finding.objects.filter(cluster=table.cluster.name, table_name=table.name, closed_at=None).order_by(
        "severity", "code"
    )[:200]
    context = {
        **head(request, table, "passes"),
        "passes": sorted(passes.WORDS.items()),
        "listing": cut(runs, page_number(request.GET.get("page"))),
        "findings": findings,
        "theirs": sorted(offers_of(table.cluster).own_passes),
        "tasks": asked_for(table.config),
    }
    return render(request, "console/table_passes.html", context)
