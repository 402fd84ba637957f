"""The table list, and a table's overview, segments and config."""

from __future__ import annotations

import json
import time
from typing import Any, Final

from django.db.models import F, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from segments import wiring
from segments.console.access import ADMINISTER, find_table, may, may_operate, may_somewhere, page
from segments.console.cluster_address import cluster_of, ctx_of
from segments.console.listing import asked, cut, page_number
from segments.console.presenters.access.tour import tour_steps
from segments.console.presenters.badges import mark, replicas_mark
from segments.console.presenters.realtime_rows import visible_rows
from segments.console.presenters.tables import schema_columns, table_page, table_row
from segments.domain.segments.ideal_state import ERROR
from segments.domain.tables.secret_masks import mask
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput
from segments.models import Finding, LineageEntry, PassRun, Push, Segment, Table
from segments.names import OFFLINE, REALTIME, TableName
from segments.secret_texts import MASK
from segments.services.core.page_addresses import default_cluster
from segments.services.engine import Offers
from segments.services.schedules.task_check import lint_config, not_run

#: Sort keys of the segment list -> columns; the name makes the order total.
SORTS: Final = {
    "name": ["name"],
    "-name": ["-name"],
    "rows": ["total_docs", "name"],
    "-rows": ["-total_docs", "name"],
    "bytes": ["size_bytes", "name"],
    "-bytes": ["-size_bytes", "name"],
    "start": ["start_ms", "name"],
    "-start": ["-start_ms", "name"],
    "push": ["push_ms", "name"],
    "-push": ["-push_ms", "name"],
}

SORT_LABELS: Final = [
    ("name", "name"),
    ("-name", "name, descending"),
    ("-rows", "most rows"),
    ("rows", "fewest rows"),
    ("-bytes", "largest"),
    ("bytes", "smallest"),
    ("-start", "latest first time"),
    ("start", "earliest first time"),
    ("-push", "pushed last"),
    ("push", "pushed first"),
]


@page
@require_safe
def table_list(request: HttpRequest) -> HttpResponse:
    """A page of the tables, those in trouble first."""
    search, number, cluster = asked(request, "q")["q"], page_number(request.GET.get("page")), cluster_of(request)
    listing = table_page(search, number, cluster=cluster, reader=request.user)
    context = {
        "listing": listing, "rows": listing.rows, "q": search, "may_operate": may_somewhere(request),
        "is_empty": not listing.rows and not search and number == 1,
    }  # fmt: skip
    context["may_create"] = may_somewhere(request, ADMINISTER)
    if context["may_operate"] and not search and number == 1 and cluster == default_cluster():
        context["tour"] = tour_steps(request.user, [row.table.name for row in listing.rows])
    return render(request, "console/tables.html", context)


@page
@require_safe
def overview(request: HttpRequest, typed: str) -> HttpResponse:
    """Status, sums, the current snapshot, schema."""
    table, name = find_table(request, typed)
    is_realtime = name.type == REALTIME
    return render(
        request,
        "console/table_overview.html",
        {
            **head(request, table, "overview"),
            "is_realtime": is_realtime,
            "rows_visible": visible_rows(ctx_of(request), table, name) if is_realtime else table.rows_visible,
            "columns": schema_columns(table.schema),
            "latest": LineageEntry.objects.filter(table=table).first(),
            "pushes": [
                (p, mark(p.state))
                for p in Push.objects.filter(cluster=table.cluster.name, table_name=table.raw_name)[:5]
            ],
            "findings": Finding.objects.filter(
                cluster=table.cluster.name, table_name=table.name, closed_at=None
            ).order_by("severity")[:5],
            "runs": PassRun.objects.filter(cluster=table.cluster.name, table_name=table.name)[:3],
        },
    )


@page
@require_safe
def segments(request: HttpRequest, typed: str) -> HttpResponse:
    """Segments, filtered, sorted and paged in the database."""
    table, _ = find_table(request, typed)
    wanted = asked(request, "q", "status", "seen", "replicas", "sort")
    is_filtered = any(wanted[k] for k in ("q", "status", "seen", "replicas"))
    query = filtered_segments(table, wanted).order_by(*SORTS.get(wanted["sort"], SORTS["name"]))
    listing = cut(query, page_number(request.GET.get("page")), total=None if is_filtered else table.segments_total)
    rows = [(s, replicas_mark(s.replicas_online, s.replicas_wanted)) for s in listing]
    context = {
        **head(request, table, "segments"),
        "listing": listing,
        "rows": rows,
        "wanted": wanted,
        "is_filtered": is_filtered,
        "sorts": SORT_LABELS,
        "may_administer": may(request, ADMINISTER, table.name),
        "statuses": ["UPLOADED", "DONE", "IN_PROGRESS", "COMMITTING"],
        "delete_all": f"Delete all {'' if listing.total is None else listing.total} that match…",
    }
    return render(request, "console/table_segments.html", context)


def filtered_segments(table: Table, wanted: dict[str, str]) -> QuerySet[Segment, Any]:
    """Segments of a table by the list's filters."""
    query = Segment.objects.filter(table=table)
    if wanted["q"]:
        query = query.filter(name__icontains=wanted["q"])
    if wanted["status"]:
        query = query.filter(status=wanted["status"])
    if wanted["seen"] in ("visible", "hidden"):
        query = query.filter(is_visible=wanted["seen"] == "visible")
    if wanted["replicas"] == "short":
        query = query.filter(replicas_online__lt=F("replicas_wanted"))
    return query


@page
@require_safe
def segment(request: HttpRequest, typed: str, segment: str) -> HttpResponse:
    """One segment: record and replicas."""
    table, _ = find_table(request, typed)
    row = get_object_or_404(Segment, table=table, name=segment)
    replicas = [(instance, mark(str(state))) for instance, state in sorted(row.replicas.items())]
    is_broken = bool(row.replicas) and set(row.replicas.values()) == {ERROR}
    context = {**head(request, table, "segments"), "segment": row, "replicas": replicas, "is_broken": is_broken}
    return render(request, "console/segment.html", context)


@page
@require_safe
def config(request: HttpRequest, typed: str) -> HttpResponse:
    """Table config, its secrets masked, and schema as JSON."""
    table, name = find_table(request, typed)
    config = mask(table.config)
    texts = {"config": json.dumps(config, indent=2), "schema": json.dumps(table.schema, indent=2)}
    more = {"has_secrets": MASK in texts["config"], "may_administer": may(request, ADMINISTER, table.name)}
    tasks = _tasks(TableConfig(name, table.config), wiring.offers_of(table.cluster))
    return render(request, "console/table_config.html", {**head(request, table, "config"), **texts, **more, **tasks})


def _tasks(config: TableConfig, offers: Offers) -> dict[str, Any]:
    """What the config's tasks do, or why they do nothing; nothing of a config that cannot be read."""
    try:
        return {"lint": lint_config(config, int(time.time() * 1000)), "not_run": not_run(config, offers)}
    except InvalidInput:
        return {}


def head(request: HttpRequest, table: Table, tab: str) -> dict[str, Any]:
    """What every page of a table shows on top."""
    row = table_row(table.pk)
    if row is None:
        raise Http404
    return {
        "table": table,
        "row": row,
        "tab": tab,
        "may_operate": may_operate(request, table.name),
        "pushed_to": table.name if table.type == OFFLINE else _offline_half(table),
        "may_push": may_operate(request, TableName(table.raw_name, OFFLINE).typed),
    }


def _offline_half(table: Table) -> str:
    """The table that a push to a REALTIME table's raw name goes to; empty: there is none, and nothing to push to."""
    name = TableName(table.raw_name, OFFLINE).typed
    return name if Table.objects.filter(cluster=table.cluster_id, name=name).exists() else ""
