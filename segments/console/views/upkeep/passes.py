"""Passes: run one now, and what the last runs reported."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from segments.console.access import actor_of, find_table, may_somewhere, page, refusal
from segments.console.cluster_address import cluster_of, ctx_of
from segments.console.forms import PassForm
from segments.console.listing import asked, cut, page_number
from segments.console.presenters.clusters import cluster_frame
from segments.console.views.tables.tables import head
from segments.domain.pinot.minion_tasks import asked_for
from segments.errors import PinotAdminError
from segments.models import Finding, PassRun, Table
from segments.names import resolve_table
from segments.services.access.read_rights import readable_rows
from segments.services.upkeep import passes
from segments.wiring import offers_of


@page
@require_http_methods(["GET", "HEAD", "POST"])
def pass_list(request: HttpRequest) -> HttpResponse:
    """Runs of all passes; POST runs one now."""
    tables = readable_rows(
        Table.objects.filter(cluster__name=cluster_of(request)), request.user, cluster="cluster__name", table="name"
    )
    names = list(tables.values_list("name", flat=True))
    if request.method == "POST":
        done = _run(request, names, PassForm(request.POST, tables=names))
        if not isinstance(done, PassForm):
            return done
        return _page(request, done, HTTPStatus.UNPROCESSABLE_ENTITY)
    return _page(request, PassForm(tables=names))


@page
@require_http_methods(["GET", "HEAD", "POST"])
def of_table(request: HttpRequest, typed: str) -> HttpResponse:
    """Findings and runs of one table; POST runs a pass over it."""
    table, _ = find_table(request, typed)
    form = PassForm(request.POST or None, tables=[table.name], initial={"table": table.name})
    status: int = HTTPStatus.OK
    if request.method == "POST":
        done = _run(
            request,
            [table.name],
            PassForm({**request.POST.dict(), "table": table.name}, tables=[table.name]),
            table.name,
        )
        if not isinstance(done, PassForm):
            return done
        form, status = done, HTTPStatus.UNPROCESSABLE_ENTITY
    runs = PassRun.objects.filter(cluster=table.cluster.name, table_name=table.name)
    listing = cut(runs, page_number(request.GET.get("page")))
    findings = Finding.objects.filter(cluster=table.cluster.name, table_name=table.name, closed_at=None).order_by(
        "severity", "code"
    )[:200]
    context = {
        **head(request, table, "passes"),
        "form": form,
        "listing": listing,
        "findings": findings,
        "theirs": sorted(offers_of(table.cluster).own_passes),
        "tasks": asked_for(table.config),
    }
    return render(request, "console/table_passes.html", context, status=status)


def _run(request: HttpRequest, names: list[str], form: PassForm, back_to: str | None = None) -> HttpResponse | PassForm:
    """The redirect after a run, or a refusal, or the form with its errors."""
    target = back_to or request.POST.get("table", "")
    refused = refusal(request, f"run {request.POST.get('task', '')}"[:64], target, table=target or None)
    if refused:
        return refused
    if not form.is_valid():
        return form
    typed = form.cleaned_data["table"]
    try:
        name, ctx = resolve_table(typed, None) if typed else None, ctx_of(request)
        sentences = passes.run_pass(
            ctx, form.cleaned_data["task"], name, actor_of(request, form.cleaned_data["reason"])
        )
    except PinotAdminError as error:
        form.refuse(error)
        return form
    is_theirs = form.cleaned_data["task"] in ctx.engine.offers.own_passes
    ran = "" if is_theirs else f"{form.cleaned_data['task']} ran over {typed or 'all tables'}: "
    messages.success(request, f"{ran}{_summary(sentences)}")
    return redirect("console:table_passes", typed=back_to) if back_to else redirect("console:passes")


def _summary(sentences: list[str]) -> str:
    if not sentences:
        return "nothing to do."
    return " ".join(sentences[:3]) + (f" And {len(sentences) - 3} more." if len(sentences) > 3 else "")


def _page(request: HttpRequest, form: PassForm, status: int = HTTPStatus.OK) -> HttpResponse:
    query = readable_rows(
        PassRun.objects.filter(cluster=cluster_of(request)), request.user, cluster="cluster", table="table_name"
    )
    wanted = asked(request, "task", "table")
    if wanted["task"]:
        query = query.filter(task=wanted["task"])
    if wanted["table"]:
        query = query.filter(table_name__icontains=wanted["table"])
    context: dict[str, Any] = {
        "form": form,
        "listing": cut(query, page_number(request.GET.get("page"))),
        "wanted": wanted,
        "tasks": sorted(passes.PASSES),
        "may_operate": may_somewhere(request),
        "theirs": sorted(cluster_frame(request).offers.own_passes),
    }
    return render(request, "console/passes.html", context, status=status)
