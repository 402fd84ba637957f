"""File ingestion of one table: what is configured, the session under way, bars of the last ones, all of them."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from segments.console.access import ADMINISTER, find_table, may, page
from segments.console.cluster_address import cluster_of
from segments.console.listing import cut, page_number
from segments.console.presenters.ingestion.bar_chart import MOST, bar_charts
from segments.console.presenters.ingestion.next_runs import next_runs
from segments.console.presenters.ingestion.sessions import is_open_session, mode_words, session_view
from segments.console.presenters.partition import chart as box
from segments.console.views.tables.tables import head
from segments.domain.ingestion.task_config import IngestionTask, parse_ingestion_task
from segments.domain.ingestion.task_lint import limit_words
from segments.domain.tables.table_config import parse_table_config
from segments.errors import PinotAdminError
from segments.models import Table
from segments.names import OFFLINE
from segments.secret_texts import mask_text
from segments.services.ingestion.mirrored_sessions import sessions_of


@dataclass(frozen=True)
class Configured:
    """What the table's config says. ``task`` None: file ingestion is off, or (``problem``) wrongly configured."""

    task: IngestionTask | None
    problem: str = ""
    folder: str = ""
    mode: str = ""
    limits: str = ""


@page
@require_safe
def of_table(request: HttpRequest, typed: str) -> HttpResponse:
    """Settings, the current session, charts, history."""
    table, name = find_table(request, typed)
    if name.type != OFFLINE:
        raise Http404
    rows = sessions_of(cluster_of(request), name)
    newest = list(rows[:MOST])
    current = newest[0] if newest and is_open_session(newest[0]) else None
    now = timezone.now()
    listing = cut(rows, page_number(request.GET.get("page")))
    found = configured(table)
    context = {
        "configured": found,
        "next_runs": next_runs(found.task, now) if found.task else None,
        "current": session_view(current, list(current.attempts.defer("log")), now) if current else None,
        "charts": bar_charts(newest),
        "may_administer": may(request, ADMINISTER, table.name),
        "box": box,
        "listing": listing,
        "views": [session_view(row, (), now) for row in listing],
    }
    return render(request, "console/ingestion/table.html", {**head(request, table, "ingestion"), **context})


def configured(table: Table) -> Configured:
    """The table's task as the mirror has its config."""
    try:
        task = parse_ingestion_task(parse_table_config(table.config))
    except PinotAdminError as error:
        return Configured(None, str(error))
    if task is None:
        return Configured(None)
    mode = mode_words(task.mode, swap=task.swap)
    if task.selector is not None:
        mode = f"replace: all files of the folder, in place of {mask_text(task.selector.words)}"
    return Configured(task, "", mask_text(task.input_dir), mode, limit_words(task))
