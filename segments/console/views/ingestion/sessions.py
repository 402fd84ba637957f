"""The sessions of a table, and one of them with its files and runs; both renew themselves while something runs."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from segments.console.access import find_table, page
from segments.console.cluster_address import cluster_of
from segments.console.listing import asked, cut, page_number
from segments.console.presenters.ingestion.sessions import (
    SessionView,
    file_line,
    file_tallies,
    mode_words,
    session_view,
)
from segments.console.views.tables.tables import head
from segments.domain.ingestion.transitions import EndReason
from segments.models import IngestionFile, IngestionSession, LineageEntry
from segments.names import TableName
from segments.services.ingestion.mirrored_sessions import files_of, find_session

#: Seconds between two requests of an open page for a session that runs, and at one that waits.
_LIVE_S: Final = 1
_WAITING_S: Final = 2
#: What the choice of a state says for files of any state that have rows which do not fit.
_BAD_ROWS: Final = "BAD_ROWS"


@page
@require_safe
def detail(request: HttpRequest, typed: str, session: str) -> HttpResponse:
    """One session: how far it is, its files by state and address (or those with rows that do not fit), its runs."""
    table, name = find_table(request, typed)
    row, context = _progress(request, name, session)
    wanted = asked(request, "state", "q")
    state = wanted["state"] if wanted["state"] in IngestionFile.State.values else ""
    only_bad = wanted["state"] == _BAD_ROWS
    is_filtered = bool(state or wanted["q"] or only_bad)
    total = None if is_filtered else row.files_total + row.files_dropped
    chosen = files_of(row, state=state, search=wanted["q"], with_bad_rows=only_bad)
    listing = cut(chosen, page_number(request.GET.get("page")), total=total)
    more = {
        "listing": listing,
        "files": [file_line(file, row.input_dir) for file in listing],
        "wanted": wanted,
        "is_filtered": is_filtered,
        "has_entry": LineageEntry.objects.filter(table=table, entry_id=row.entry_id).exists(),
        "states": [*IngestionFile.State.choices, (_BAD_ROWS, "with bad rows")],
    }
    return render(request, "console/ingestion/session.html", {**head(request, table, "ingestion"), **context, **more})


@page
@require_safe
def live(request: HttpRequest, typed: str, session: str) -> HttpResponse:
    """The part of a session's page that htmx fetches again and again; the whole page loads once more when it ends, or
    when its buttons become others (``seen`` is what the page shows).
    """
    table, name = find_table(request, typed)
    row, context = _progress(request, name, session)
    answer = render(request, "console/ingestion/progress.html", {"table": table, **context})
    if asked(request, "seen")["seen"] != _phase(row, context["view"], len(context["runs"])):
        answer["HX-Refresh"] = "true"
    return answer


def _progress(request: HttpRequest, name: TableName, session_id: str) -> tuple[IngestionSession, dict[str, Any]]:
    row = find_session(cluster_of(request), name, session_id)
    runs = list(row.attempts.defer("log") if request.headers.get("HX-Request") else row.attempts.all())
    view = session_view(row, runs, timezone.now())
    return row, {
        "session": row,
        "view": view,
        "runs": runs,
        "tallies": file_tallies(row),
        "mode": mode_words(row.mode, swap=row.swap),
        "phase": _phase(row, view, len(runs)),
        "may_undo": row.is_kept and row.state == IngestionSession.State.DONE and not row.end_reason,
        "may_read_again": row.is_kept and row.end_reason == EndReason.UNDONE and row.mode == "APPEND" and not row.swap,
        "every_s": _LIVE_S if view.is_live else _WAITING_S,
    }


def _phase(row: IngestionSession, view: SessionView, runs: int) -> str:
    """What decides about the page's buttons and parts."""
    return f"{row.state}-{runs}-{'live' if view.is_live else 'waits' if view.waits else 'over'}"
