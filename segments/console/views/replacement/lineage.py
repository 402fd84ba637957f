"""The lineage of a table, and the rollback of an entry: preview, confirmation, outcome."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from segments import wiring
from segments.console.access import actor_of, find_table, may_operate, page, refusal, shown_status
from segments.console.cluster_address import ctx_of
from segments.console.forms import RollbackForm
from segments.console.listing import cut, page_number
from segments.console.mirror_wait import wait_for_mirror
from segments.console.presenters import rollback as presenter
from segments.console.presenters.badges import mark
from segments.console.presenters.lineage import timeline
from segments.console.views.replacement.rollback_steps import under_way
from segments.console.views.replacement.undo.rollback import of_rollback, still_possible
from segments.console.views.tables.tables import head
from segments.domain.replacement.lineage import State
from segments.errors import PinotAdminError
from segments.models import AuditEvent, LineageEntry, Table
from segments.names import TableName, resolve_table
from segments.services.replacement import protocol as replacement
from segments.services.replacement.rollback_preview import RevertPreview


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


@page
@require_http_methods(["GET", "HEAD", "POST"])
def rollback(request: HttpRequest, typed: str, entry_id: str) -> HttpResponse:
    """GET shows what would happen (or what happened); POST does it and comes back here."""
    table, name = find_table(request, typed)
    if request.method == "POST":
        refused = refusal(request, "revertReplaceSegments", table.name, table=table.name)
        if refused:
            return refused
    ctx = wiring.context(table.cluster.name)
    preview = replacement.preview_revert(ctx, name, entry_id)
    form = RollbackForm(
        request.POST or None,
        table=table.name,
        needs_force=preview.needs_force,
        is_open=preview.state == State.IN_PROGRESS,
        fingerprint=presenter.fingerprint(preview),
    )
    if request.method != "POST":
        return _page(request, table, preview, form)
    if not form.is_valid():
        return _page(request, table, preview, form, HTTPStatus.UNPROCESSABLE_ENTITY)
    try:
        actor = actor_of(request, form.cleaned_data["reason"])
        replacement.revert_replace(ctx, name, entry_id, force=bool(form.cleaned_data.get("force")), actor=actor)
    except PinotAdminError as error:
        return _refused(request, table, name, entry_id, form, error)
    wait_for_mirror(ctx, table)
    messages.success(request, f"Rolled back. Queries on {table.name} see the previous snapshot again.")
    return redirect("console:rollback", typed=table.name, entry_id=entry_id)


def _refused(
    request: HttpRequest, table: Table, name: TableName, entry_id: str, form: RollbackForm, error: PinotAdminError
) -> HttpResponse:
    """Show why it was refused above a fresh preview: the entry may have changed meanwhile."""
    form.refuse(error)
    preview = replacement.preview_revert(wiring.context(table.cluster.name), name, entry_id)
    return _page(request, table, preview, form, shown_status(request, error))


def _page(
    request: HttpRequest, table: Table, preview: RevertPreview, form: RollbackForm, status: int = HTTPStatus.OK
) -> HttpResponse:
    until, name = presenter.deadline(preview), resolve_table(table.name, None)
    done = AuditEvent.objects.filter(
        cluster=table.cluster.name,
        target=table.name,
        action="revertReplaceSegments",
        outcome="done",
        detail__entry=preview.entry_id,
    ).first()
    context = {
        **head(request, table, "lineage"),
        "preview": preview,
        "mark": mark(preview.state),
        "lines": presenter.comparison(preview),
        "warnings": presenter.warnings(preview),
        "until": until,
        "is_late": until is not None and until < timezone.now(),
        "entry": LineageEntry.objects.filter(table=table, entry_id=preview.entry_id).first(),
        "form": form,
        "done": done,
        "is_done": preview.state == "REVERTED",
        "undo": of_rollback(ctx_of(request), name, preview.entry_id) if preview.state == "REVERTED" else None,
        "press": f"Roll back {table.name}",
        "may_operate": may_operate(request, table.name),
    }
    return render(request, "console/rollback.html", context, status=status)
