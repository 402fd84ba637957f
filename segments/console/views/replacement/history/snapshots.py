"""The history of a table: its snapshots, newest first, and the button that goes back to one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from segments.console.access import find_table, page
from segments.console.cluster_address import ctx_of
from segments.console.listing import cut, page_number
from segments.console.operation import Operation, Outcome, Target, back_to
from segments.console.presenters import rollback as presenter
from segments.console.presenters.history.snapshots import bars
from segments.console.views.tables.tables import head
from segments.domain.formats.plural import counted
from segments.domain.tables.keyed_tables import is_keyed
from segments.domain.tables.table_config import TableConfig
from segments.errors import PinotAdminError
from segments.services.core.context import Actor, Context
from segments.services.replacement.history.causes import causes_of
from segments.services.replacement.history.going_back import ACTION, ReturnPreview, preview_return, return_to
from segments.services.replacement.history.snapshots import history_of
from segments.services.replacement.history.standing import standings
from segments.services.replacement.undo_deadline import undo_kept_ms


@page
@require_safe
def snapshots(request: HttpRequest, typed: str) -> HttpResponse:
    """A page of the history."""
    table, name = find_table(request, typed)
    ctx = ctx_of(request)
    rows = history_of(ctx, name).select_related("cluster")
    listing = cut(rows, page_number(request.GET.get("page")))
    left = standings(ctx, name, [r.number for r in listing.rows])
    config = TableConfig(name, table.config)
    shown = {
        "listing": listing,
        "bars": bars(table, listing.rows, left, causes_of(listing.rows), _undo_kept(ctx, config)),
        "has_keys": is_keyed(config),
    }
    return render(request, "console/table_history.html", {**head(request, table, "history"), **shown})


def _undo_kept(ctx: Context, config: TableConfig) -> timedelta:
    """Not promised of a table whose config cannot be read."""
    try:
        return timedelta(milliseconds=undo_kept_ms(ctx, config))
    except PinotAdminError:
        return timedelta()


def _preview(target: Target, plain: Operation) -> Operation:
    number = int(target.arguments["number"])
    found = preview_return(target.ctx, target.name, number)
    return replace(
        plain,
        title=f"Go back to snapshot {number}",
        button=f"Restore snapshot {number}",
        explain=_explained(found),
        lines=presenter.sides(found.before, found.after),
        warnings=[*found.notes, *_warnings(found)],
        lists=[
            ("Segments that queries see again", found.returning_segments),
            ("Segments that they no longer see", found.leaving_segments),
        ],
        why_not=" ".join(found.blockers),
        seen=str(found.present),
    )


def _explained(found: ReturnPreview) -> list[str]:
    if not found.steps:
        return ["Nothing changes."]
    if found.undo_until_ms is None:
        undo = "It cannot be undone: no files of deleted segments are kept here."
    else:
        until = presenter.minute(found.undo_until_ms)
        undo = f"It can be undone until {until}, by going to snapshot {found.present} again."
    return [
        *found.steps,
        f"Queries then see {counted(len(found.returning_segments), 'segment')} that they do not see now, and stop "
        f"seeing {len(found.leaving_segments):,}.",
        undo,
    ]


def _warnings(found: ReturnPreview) -> list[str]:
    if found.before.rows and found.after.rows < found.before.rows * 0.5:
        return ["Queries will see less than half of today's rows."]
    return []


def _run(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    done = return_to(target.ctx, target.name, int(target.arguments["number"]), actor=actor)
    until = f" Undo is possible until {presenter.minute(done.undo_until_ms)}." if done.undo_until_ms else ""
    undo = reverse("console:restore_snapshot", args=[target.table.name, done.undo]) if done.undo_until_ms else ""
    return Outcome(f"Queries on {target.table.name} see snapshot {done.number} again.{until}", undo)


RESTORE: Final = Operation(
    action=ACTION,
    title="Go back to a snapshot",
    button="Go back",
    symbol="undo",
    tab="history",
    preview=_preview,
    run=_run,
    back=back_to("history"),
    why_not_title="You cannot go back to this snapshot now.",
)
