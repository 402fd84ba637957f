"""The lineage of a table: its replacements, newest first."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from segments.console.access import find_table, page
from segments.console.listing import cut, page_number
from segments.console.presenters.lineage import timeline
from segments.console.views.replacement.rollback import under_way
from segments.console.views.replacement.undo.rollback import still_possible
from segments.console.views.tables.tables import head
from segments.models import LineageEntry


@page
@require_safe
def entries(request: HttpRequest, typed: str) -> HttpResponse:
    """Timeline, newest first."""
    table, name = find_table(request, typed)
    listing = cut(LineageEntry.objects.filter(table=table), page_number(request.GET.get("page")))
    undos = still_possible(request, name)
    listed = {e.entry_id for e in listing.rows}
    shown = {
        "listing": listing, "steps": timeline(table, listing.rows, undos), "stopped": under_way(request, name),
        "rollbacks": [u for u in undos if listed.isdisjoint(u.entries)],
    }  # fmt: skip
    return render(request, "console/table_lineage.html", {**head(request, table, "lineage"), **shown})
