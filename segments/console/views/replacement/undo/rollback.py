"""Undo of a rollback: the page with its preview, and what other pages say about rollbacks that can still be undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from segments.console.access import find_table, page, refusal
from segments.console.cluster_address import ctx_of
from segments.console.operation import Operation, Outcome, perform
from segments.console.presenters import rollback as presenter
from segments.errors import PinotAdminError
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.replacement.undo.planning import RolledBack, UndoPreview, open_rollbacks, preview_undo
from segments.services.replacement.undo.rollback import ACTION, undo_rollback

_FORCE = "Show newer segments beside what comes back: they are other data"


@dataclass(frozen=True)
class Undo:
    """What a page says: until when (epoch ms) it is possible, or why it is not."""

    until_ms: int | None
    why_not: str = ""


@page
@require_http_methods(["GET", "HEAD", "POST"])
def undo(request: HttpRequest, typed: str, entry_id: str) -> HttpResponse:
    """Bring back what a rollback took away."""
    table, name = find_table(request, typed)
    refused = refusal(request, ACTION, table.name, table=table.name) if request.method == "POST" else None
    if refused:
        return refused
    force = request.POST.get("force") == "on"
    preview = preview_undo(ctx_of(request), name, entry_id, force=force)

    def run(ctx: Context, values: Mapping[str, Any], actor: Actor) -> Outcome:
        done = undo_rollback(ctx, name, entry_id, force=bool(values.get("force")), actor=actor)
        said = (
            f"The rollback is undone. Queries on {table.name} see {len(done.returned)} segments again that it had "
            "taken away."
        )
        return Outcome(said, reverse("console:rollback", args=[table.name, done.entry]), "Roll it back again")

    operation = Operation(
        action=ACTION,
        title="Undo the rollback",
        button="Undo the rollback",
        tab="lineage",
        explain=explained(preview),
        run=run,
        back=reverse("console:lineage", args=[table.name]),
        items=preview.returning_segments,
        items_title="Segments that come back",
        fields={"force": forms.BooleanField(required=True, label=_FORCE)} if preview.needs_force or force else {},
        why_not="" if preview.allowed or preview.needs_force else " ".join(preview.blockers),
    )
    warned = preview.blockers if preview.needs_force else []
    told = {"lines": presenter.sides(preview.before, preview.after), "warnings": warned}
    return perform(request, table, operation, told)


def explained(preview: UndoPreview) -> list[str]:
    """What will happen, in sentences."""
    steps = len(preview.undoes)
    until = preview.possible_until_ms
    several = f" It takes back all {steps} steps of the rollback at once." if steps > 1 else ""
    return [
        f"{len(preview.returning_segments)} deleted segments come back, hidden until all servers have loaded "
        f"them.{several}",
        f"Then queries switch to them, and {len(preview.hidden_segments)} segments that they see now are hidden, "
        "in one step.",
        "It is a replacement of its own: it can be rolled back like any other.",
        *([f"Possible until {presenter.minute(until)}, while their files are kept."] if until else []),
    ]


def of_rollback(ctx: Context, name: TableName, entry_id: str) -> Undo | None:
    """What the page after a rollback says; None where there is nothing to undo."""
    try:
        preview = preview_undo(ctx, name, entry_id)
    except PinotAdminError:
        return None
    return Undo(preview.possible_until_ms, "" if preview.allowed or preview.needs_force else " ".join(preview.blockers))


def still_possible(request: HttpRequest, name: TableName) -> list[RolledBack]:
    """Rollbacks of the table that are not undone and whose files should be there, latest first; none where nobody can
    tell.
    """
    try:
        return open_rollbacks(ctx_of(request), name)
    except PinotAdminError:
        return []
